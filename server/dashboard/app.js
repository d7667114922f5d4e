// The dashboard: lists, the graph of a search, one variant; redrawn when the state changes.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const BAD = new Set(["wrong", "unsafe", "cheated", "build_failed", "rejected", "launch_failed", "timed_out"]);
const shown = { kernel: null, search: null, variant: null };
const $ = (id) => document.getElementById(id);

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

async function data(path) {
  if (globalThis.embedded) return embedded.data(path);
  const answer = await fetch("data/" + path);
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error || answer.statusText);
  return found;
}

const times = (value) => (value === null || value === undefined ? "–" : Number(value).toPrecision(3) + "x");

function table(caption, heads, rows) {
  const made = element("table");
  made.append(element("caption", caption));
  const head = made.createTHead().insertRow();
  for (const name of heads) head.append(element("th", name, { scope: "col" }));
  const body = made.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    for (const cell of cells) {
      const place = row.insertCell();
      place.append(cell instanceof Node ? cell : document.createTextNode(cell ?? "–"));
    }
  }
  return made;
}

function button(text, pressed, act) {
  const made = element("button", text, { type: "button" });
  if (pressed) made.setAttribute("aria-current", "true");
  made.addEventListener("click", act);
  return made;
}

function lists(found) {
  shown.kernel ??= found.kernels.at(-1)?.kernel_id ?? null;
  $("kernels").replaceChildren(...found.kernels.map((kernel) => {
    const item = element("li");
    const words = `${kernel.kernel_id} ${times(kernel.incumbent_speedup)}`;
    item.append(button(words, kernel.kernel_id === shown.kernel, () => { choose(kernel.kernel_id); }));
    return item;
  }));
  const own = found.searches.filter((search) => search.kernel_id === shown.kernel);
  if (!own.some((search) => search.search_id === shown.search)) shown.search = own.at(-1)?.search_id ?? null;
  const heads = ["search", "planner", "builds", "best", "stands"];
  const rows = own.map(({ search_id, planner, stands }) => [
    button(search_id, search_id === shown.search, () => { shown.search = search_id; refresh(); }),
    planner, `${stands.builds} of ${stands.budget}`, times(stands.best_speedup), stands.stopped_text || "under way",
  ]);
  $("searches").replaceChildren(own.length ? table("of this kernel", heads, rows) : element("p", "none yet"));
  const jobs = found.jobs.map((job) => [job.job_id, job.tool, job.status, job.kernel_id, `${job.seconds} s`, job.error ?? ""]);
  $("jobs").replaceChildren(jobs.length
    ? table("the newest first", ["job", "tool", "status", "kernel", "took", "error"], jobs)
    : element("p", "none: jobs are what clients ask the server for"));
}

function depths(nodes, edges) {
  const depth = new Map(nodes.filter((node) => node.root).map((node) => [node.key, 0]));
  for (let changed = true; changed;) {
    changed = false;
    for (const { parent, child } of edges) {
      if (child && child !== parent && depth.has(parent) && !depth.has(child)) {
        depth.set(child, depth.get(parent) + 1);
        changed = true;
      }
    }
  }
  return depth;
}

function graph({ nodes, edges, stands }) {
  const depth = depths(nodes, edges), rows = new Map(), place = new Map();
  for (const node of nodes) {
    const at = depth.get(node.key) ?? 0, row = rows.get(at) ?? 0;
    rows.set(at, row + 1);
    place.set(node.key, [40 + 170 * at, 28 + 46 * row]);
  }
  const width = 190 + 170 * Math.max(0, ...depth.values()), height = 20 + 46 * Math.max(1, ...rows.values());
  const picture = $("graph");
  const focused = document.activeElement?.dataset?.key;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.setAttribute("width", width);
  picture.setAttribute("height", height);
  const lines = edges.filter((e) => e.child && e.child !== e.parent && place.has(e.parent) && place.has(e.child)).map((e) => {
    const [x, y] = place.get(e.parent), [u, v] = place.get(e.child);
    return drawn("path", { class: "edge", d: `M${x} ${y} C${x + 70} ${y} ${u - 70} ${v} ${u} ${v}` });
  });
  const method = new Map(edges.map((e) => [e.child, e.method]));
  const dots = nodes.map((node) => {
    const [x, y] = place.get(node.key);
    const kind = [node.ending === "faster" && "faster", BAD.has(node.ending) && "bad", node.key === stands.best && "best"];
    const words = node.root ? "baseline" : method.get(node.key) ?? node.key;
    const made = drawn("g", {
      class: ["node", ...kind.filter(Boolean)].join(" "), tabindex: "0", role: "button", transform: `translate(${x} ${y})`,
    });
    made.dataset.key = node.key;
    made.append(drawn("circle", { r: 11 }), drawn("text", { x: 16, y: -2 }, `${words.slice(0, 20)} `),
      drawn("text", { x: 16, y: 12 }, `${node.ending} ${times(node.speedup)}${node.key === stands.best ? ", best" : ""}`));
    made.addEventListener("click", () => variant(node.key, true));
    return made;
  });
  picture.replaceChildren(...lines, ...dots);
  if (focused) dots.find((dot) => dot.dataset.key === focused)?.focus();
  $("graph-h").textContent = `Graph of ${stands.search_id}`;
  $("graph-place").hidden = false;
}

function keys(event) {
  const dots = [...$("graph").querySelectorAll(".node")], at = dots.indexOf(document.activeElement);
  if (at < 0) return;
  if (event.key === "Enter" || event.key === " ") variant(dots[at].dataset.key, true);
  else if (event.key === "ArrowRight" || event.key === "ArrowDown") dots[(at + 1) % dots.length].focus();
  else if (event.key === "ArrowLeft" || event.key === "ArrowUp") dots.at(at - 1).focus();
  else return;
  event.preventDefault();
}

function words(value) {
  if (Array.isArray(value)) return value.map(words).join(", ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value).map(([name, each]) => `${name.replaceAll("_", " ")}: ${words(each)}`).join("; ");
}

function facts(record) {
  const made = element("dl");
  for (const [name, value] of Object.entries(record)) {
    if (value === null || value === "" || (typeof value === "object" && !Object.keys(value).length)) continue;
    made.append(element("dt", name.replaceAll("_", " ")));
    made.append(element("dd", words(value)));
  }
  return made;
}

function diff(text) {
  const made = element("pre", null, { class: "diff", tabindex: "0", role: "region", "aria-label": "difference from its parent" });
  for (const line of text.split("\n")) {
    const kind = line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : line.startsWith("@") ? "at" : "";
    made.append(element("span", line, kind ? { class: kind } : {}));
  }
  return made;
}

function insights({ bottleneck, workload, findings, regions }) {
  const made = [element("h3", `What bounds it (${workload})`), element("p", bottleneck)];
  if (findings.length) {
    const rows = findings.map((each) => [each.rule, each.severity, each.text, each.action]);
    made.push(scrolled(table("findings", ["rule", "weight", "what", "what to do"], rows)));
  }
  for (const each of regions) {
    const changes = [["changed", each.changed], ["appeared", each.appeared], ["vanished", each.vanished]];
    const rows = changes.flatMap(([kind, list]) => list.map((change) => [kind, words(change)]));
    made.push(element("h3", `What its code does otherwise: ${each.after}`));
    made.push(element("p", `${each.same} regions do the same work; live registers: ${words(each.live_registers)}; loops: ${words(each.loops)}`));
    if (rows.length) made.push(scrolled(table("regions", ["what", "work"], rows)));
  }
  return made;
}

function scrolled(inner) {
  const made = element("div", null, { class: "scroll", tabindex: "0", role: "region", "aria-label": inner.caption.textContent });
  made.append(inner);
  return made;
}

async function variant(key, go) {
  const found = await data("variant/" + key);
  shown.variant = key;
  const source = element("details");
  source.append(element("summary", "Source"), element("pre", found.source, { tabindex: "0" }));
  const looked = insights(found.looked_into);
  const close = button("Close", false, () => { $("variant").hidden = true; shown.variant = null; });
  $("variant").replaceChildren(element("h2", `Variant ${key}`), facts(found.summary), ...looked, diff(found.diff), source, close);
  $("variant").hidden = false;
  if (go) $("variant").focus();
}

function choose(kernel) {
  Object.assign(shown, { kernel, search: null, variant: null });
  $("variant").hidden = true;
  refresh();
}

function show({ kernel, search }) {
  if (kernel) Object.assign(shown, { kernel, search: search ?? null });
  return refresh();
}

let busy = false, again = false;
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  try {
    do {
      again = false;
      lists(await data("overview"));
      if (shown.search) graph(await data("search/" + shown.search)); else $("graph-place").hidden = true;
      if (shown.kernel) $("kernel").innerHTML = (await data("kernel/" + shown.kernel)).html;
      $("state").textContent = "as of " + new Date().toLocaleTimeString();
    } while (again);
  } catch (error) {
    $("state").textContent = "cannot be read: " + error.message;
  } finally {
    busy = false;
  }
}

function listen() {
  if (globalThis.embedded) return embedded.listen(refresh, show);
  const live = new EventSource("live");
  live.onmessage = refresh;
  live.onerror = () => { $("state").textContent = "the server has ended, or is away; trying again"; };
}

$("graph").addEventListener("keydown", keys);
data("host").then((found) => $("host").replaceChildren(...facts(found).childNodes));
listen();
