#!/usr/bin/env node
// An MCP server with one tool, `bulk`, that gives as many bytes of text as it is asked for. It has no
// dependencies, so that what is measured is the way of the bytes and not a library's.

import { createInterface } from "node:readline";

// Like a log: short lines, so that one byte in 64 needs an escape in JSON.
const line = "2026-01-31T12:00:00Z info  request served path=/index status=200\n".slice(-64);
const text = line.repeat(16 * 1024 * 1024 / 64);

const tool = {
  name: "bulk",
  description: "Gives text of the length that was asked for.",
  inputSchema: {
    type: "object",
    properties: { bytes: { type: "integer", minimum: 0, maximum: text.length } },
    required: ["bytes"],
  },
};

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "big-server", version: "1.0.0" },
      };
    case "ping":
      return {};
    case "tools/list":
      return { tools: [tool] };
    case "tools/call":
      return { content: [{ type: "text", text: text.slice(0, params.arguments.bytes) }] };
    default:
      return undefined;
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined) return;
  const result = answer(message);
  const body = result ? { result } : { error: { code: -32601, message: "Method not found" } };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...body }) + "\n");
});
