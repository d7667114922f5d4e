// The calls of journey.json by a client of the TypeScript SDKs; journey.py says the same in Python.
import { readFileSync } from "node:fs";

const PLAN = JSON.parse(readFileSync(new URL("journey.json", import.meta.url), "utf8"));
const WAIT_S = 45;
export const OPTIONS = { timeout: 60_000 }; // of one call, ms: above what a call waits at most

/** What the runner wants driven: {transport, command, args, url, token}. */
export function target() {
  return JSON.parse(readFileSync(0, "utf8"));
}

/** Make the calls by `call(name, arguments)`, which gives a CallToolResult; return what was finished. */
export async function journey(call) {
  const kept = {};
  const steps = [];
  for (const step of PLAN) {
    const began = performance.now();
    let calls = 1;
    let reply = await replyOf(call, step.tool, filled(step.arguments, kept));
    while (["queued", "running"].includes(reply.status)) {
      calls += 1;
      reply = await replyOf(call, "job", { job_id: reply.job_id, wait_s: WAIT_S });
    }
    if ((reply.status ?? "done") !== "done") {
      throw new Error(`${step.tool} ended as ${JSON.stringify(reply)}`);
    }
    const found = reply.result ?? reply;
    for (const name of step.keep ?? []) kept[name] = found[name];
    const seconds = Math.round((performance.now() - began) / 10) / 100;
    steps.push({ tool: step.tool, seconds, calls });
  }
  return { steps, kept };
}

async function replyOf(call, name, args) {
  const result = await call(name, args);
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return result.structuredContent;
}

function filled(args, kept) {
  const value = (v) => (typeof v === "string" && v.startsWith("$") ? kept[v.slice(1)] : v);
  return Object.fromEntries(Object.entries(args).map(([name, v]) => [name, value(v)]));
}
