// @modelcontextprotocol/client, version 2: asks for the era of 2026-07-28 first.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { journey, OPTIONS, target } from "./journey.mjs";

const { transport, command, args, url, token } = target();
const http = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const client = new Client(
  { name: "typescript-v2", version: "1" },
  { versionNegotiation: { mode: "auto" } },
);
await client.connect(
  transport === "http"
    ? new StreamableHTTPClientTransport(new URL(url), http)
    : new StdioClientTransport({ command, args, stderr: "inherit" }),
);
const { tools } = await client.listTools();
const done = await journey((name, given) => client.callTool({ name, arguments: given }, OPTIONS));
const era = client.getNegotiatedProtocolVersion?.() ?? "";
console.log(JSON.stringify({ era, tools: tools.length, ...done, extra: {} }));
await client.close();
