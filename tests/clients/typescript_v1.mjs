// @modelcontextprotocol/sdk, version 1: the handshake of 2025-11-25 and before.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { journey, OPTIONS, target } from "./journey.mjs";

const { transport, command, args, url, token } = target();
const http = { requestInit: { headers: { Authorization: `Bearer ${token}` } } };
const client = new Client({ name: "typescript-v1", version: "1" });
await client.connect(
  transport === "http"
    ? new StreamableHTTPClientTransport(new URL(url), http)
    : new StdioClientTransport({ command, args, stderr: "inherit" }),
);
const { tools } = await client.listTools();
const done = await journey((name, given) =>
  client.callTool({ name, arguments: given }, undefined, OPTIONS),
);
const era = transport === "http" ? client.transport.protocolVersion : "handshake";
console.log(JSON.stringify({ era, tools: tools.length, ...done, extra: {} }));
await client.close();
