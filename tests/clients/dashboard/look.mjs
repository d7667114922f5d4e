// Looks at the dashboard in Chromium: `node look.mjs CHROMIUM URL FOLDER`. Light, dark and 400 px
// wide, with a node of the graph open; reports what the console said, what axe found, what is wider
// than the page, and where the keyboard leads. Prints a JSON report.
import { createRequire } from "node:module";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [chromium, url, folder] = process.argv.slice(2);
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const PATIENCE_MS = 240000; // others may use the machine
const VIEWS = [
  { name: "light", width: 1200, height: 1400, scheme: "light" },
  { name: "dark", width: 1200, height: 1400, scheme: "dark" },
  { name: "phone", width: 400, height: 1400, scheme: "light" },
];

async function looked(browser, { name, width, height, scheme }) {
  const page = await browser.newPage(), said = [];
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) said.push(message.text()); });
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("requestfailed", (request) => said.push(`${request.url()}: ${request.failure().errorText}`));
  await page.setBypassCSP(true); // for axe, which is put into the page
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url);
  await page.waitForFunction(() => /^as of/.test(document.getElementById("state").textContent), { timeout: PATIENCE_MS });
  const nodes = await page.$$("#graph .node");
  const keyboard = nodes.length ? await byKeyboard(page, nodes) : {};
  await page.addScriptTag({ path: axe });
  const { violations, incomplete } = await page.evaluate(() => axe.run(document));
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  const headings = await page.$$eval("h1, h2, h3", (found) => found.map((each) => `${each.tagName} ${each.textContent}`));
  await page.close();
  const told = (each) => ({ id: each.id, impact: each.impact, help: each.help, at: each.nodes.slice(0, 3).map((node) => node.target.join(" ")) });
  return { name, console: said, violations: violations.map(told), incomplete: incomplete.map(told), wider_by: wide, nodes: nodes.length, keyboard, headings };
}

async function byKeyboard(page, nodes) {
  await nodes[0].evaluate((node) => node.focus());
  await page.keyboard.press("ArrowRight");
  const reached = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.getElementById("variant").hidden, { timeout: PATIENCE_MS });
  const shown = await page.$eval("#variant h2", (heading) => heading.textContent);
  const focused = await page.evaluate(() => document.activeElement.id);
  return { reached, shown, focused };
}

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const views = [];
  for (const view of VIEWS) views.push(await looked(browser, view));
  console.log(JSON.stringify({ chromium: await browser.version(), views }, null, 1));
} finally {
  await browser.close();
}
