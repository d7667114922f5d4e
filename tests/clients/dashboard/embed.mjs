// Plays a client that shows the page of a search's reply (MCP Apps): `node embed.mjs CHROMIUM URL
// TOKEN FOLDER`. The page stands in a sandbox with the policy that clients have to give it,
// asks over postMessage, and is answered by the real server. Prints a JSON report.
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [chromium, url, token, folder] = process.argv.slice(2);
const PAGE = "ui://kernelwright/dashboard", VERSION = "2026-07-28", PATIENCE_MS = 240000;
const POLICY = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";
const META = "io.modelcontextprotocol/";
let asked = 0;

async function read(uri) {
  asked += 1;
  const _meta = { [META + "protocolVersion"]: VERSION, [META + "clientCapabilities"]: {}, [META + "clientInfo"]: { name: "embed", version: "1" } };
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream", Authorization: `Bearer ${token}`,
      "MCP-Protocol-Version": VERSION, "Mcp-Method": "resources/read", "Mcp-Name": uri,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: asked, method: "resources/read", params: { uri, _meta } }),
  });
  const text = await answer.text();
  const told = JSON.parse(text.startsWith("{") ? text : text.split("\n").findLast((line) => line.startsWith("data: {")).slice(6));
  if (told.error) throw new Error(told.error.message);
  return told.result;
}

// What the client's own page does, in the browser.
function host(page, theme, reply) {
  const frame = document.createElement("iframe"), heard = (globalThis.heard = []);
  const tell = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
  window.addEventListener("message", async ({ data: { id, method, params } }) => {
    heard.push(method);
    if (method === "ui/initialize") tell({ id, result: { protocolVersion: params.protocolVersion, hostInfo: { name: "embed", version: "1" }, hostCapabilities: { serverResources: {} }, hostContext: { theme } } });
    else if (method === "resources/read") tell({ id, result: await globalThis.read(params.uri) });
    else if (method === "ui/notifications/initialized") tell({ method: "ui/notifications/tool-result", params: { content: [], structuredContent: reply } });
    else if (method === "ui/notifications/size-changed") frame.style.height = `${params.height}px`;
  });
  frame.sandbox = "allow-scripts";
  frame.title = "Kernelwright";
  frame.style = "width: 100%; height: 300px; border: 1px solid gray";
  frame.srcdoc = page;
  document.body.append(frame);
}

async function looked(browser, html, theme, { search_id, kernel_id }) {
  const page = await browser.newPage(), said = [];
  page.on("console", (message) => { if (["error", "warn"].includes(message.type())) said.push(message.text()); });
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("request", (request) => { if (!/^(about|data):/.test(request.url())) said.push(`asked for ${request.url()}`); });
  await page.setViewport({ width: 900, height: 1200 });
  await page.exposeFunction("read", read);
  await page.evaluate(host, html.replace("<head>", `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`), theme, { status: "done", kernel_id, result: { search_id } });
  const frame = await (await page.waitForSelector("iframe")).contentFrame();
  await frame.waitForFunction(() => /^as of/.test(document.getElementById("state").textContent), { timeout: PATIENCE_MS });
  await frame.waitForSelector("#graph .node");
  await frame.evaluate(() => document.querySelector("#graph .node.best").dispatchEvent(new MouseEvent("click")));
  await frame.waitForFunction(() => !document.getElementById("variant").hidden, { timeout: PATIENCE_MS });
  const shown = await frame.evaluate(() => ({
    graph: document.getElementById("graph-h").textContent,
    nodes: document.querySelectorAll("#graph .node").length,
    variant: document.querySelector("#variant h2").textContent,
    headings: [...document.querySelectorAll("#kernel h2")].map((each) => each.textContent),
    paper: getComputedStyle(document.body).backgroundColor,
  }));
  const heard = await page.evaluate(() => [...new Set(globalThis.heard)]);
  await page.screenshot({ path: join(folder, `embedded-${theme}.png`), fullPage: true });
  await page.close();
  return { theme, console: said, heard, ...shown };
}

const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const { contents: [page] } = await read(PAGE);
  const overview = JSON.parse((await read("kernelwright://dashboard/overview")).contents[0].text);
  const views = [];
  for (const theme of ["light", "dark"]) views.push(await looked(browser, page.text, theme, overview.searches.at(-1)));
  console.log(JSON.stringify({ mime: page.mimeType, meta: page._meta, bytes: page.text.length, views }, null, 1));
} finally {
  await browser.close();
}
