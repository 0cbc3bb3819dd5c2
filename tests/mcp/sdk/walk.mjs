// Walks a workflow of the rail to its end with the official SDK of TypeScript, and puts questions to a "user": the test.
//
// The plan comes as the first argument. Each thing that happens is one line of JSON on stdout; after a question for a signed-in
// person this waits for a line on stdin, as a user would who has been there.

import { createInterface } from "node:readline";

const plan = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = (what) => process.stdout.write(JSON.stringify(what) + "\n");
const ADDRESS_REQUIRED = -32042;

const asks = { elicitation: { form: {}, url: {} } };
const { client, transport } = plan.sdk === "typescript-1" ? await first() : await second();

async function first() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const made = new Client({ name: "walk", version: "1" }, { capabilities: asks });
  made.setRequestHandler(types.ElicitRequestSchema, answered);
  return { client: made, transport: transportOf(StdioClientTransport, StreamableHTTPClientTransport) };
}

async function second() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const options = { capabilities: asks, versionNegotiation: { mode: { pin: "2026-07-28" } } };
  const made = new Client({ name: "walk", version: "1" }, options);
  made.setRequestHandler("elicitation/create", answered);
  return { client: made, transport: transportOf(StdioClientTransport, StreamableHTTPClientTransport) };
}

function transportOf(Stdio, Http) {
  if (plan.url) {
    return new Http(new URL(plan.url), { requestInit: { headers: { Authorization: `Bearer ${plan.key}` } } });
  }
  return new Stdio({ command: plan.command, args: plan.args, env: plan.env, cwd: plan.cwd });
}

async function answered(request) {
  const { mode, message, url } = request.params;
  tell({ asked: mode ?? "form", message, url });
  if (url) {
    await lines.next();
    return { action: "accept" };
  }
  return { action: "accept", content: { answer: plan.answer } };
}

async function call(name, given) {
  try {
    const told = await client.callTool({ name, arguments: given });
    return told.isError ? fail(told) : told.structuredContent;
  } catch (error) {
    if (error.code !== ADDRESS_REQUIRED) throw error;
    const [asked] = error.data?.elicitations ?? error.elicitations;
    tell({ asked: "error", message: asked.message, url: asked.url });
    await lines.next();
    return call(name, given);
  }
}

function fail(told) {
  throw new Error(JSON.stringify(told.content));
}

function outputFor(reply) {
  const question = reply.pending.checkpoint;
  const answer = question && { kind: "wr.checkpoint_answer", checkpointId: question.checkpointId, optionId: plan.answer };
  return { notesMarkdown: "Did what the step says.", ...(answer ? { artifacts: [answer] } : {}) };
}

await client.connect(transport);
const { tools } = await client.listTools();
tell({ tools: tools.map((tool) => tool.name) });
let reply = await call("start_workflow", { workflowId: plan.workflowId });
const seen = [];
while (!reply.isComplete && seen.length < 20) {
  seen.push(reply.pending.stepId);
  const tokens = { stateToken: reply.stateToken, ackToken: reply.ackToken };
  reply = await call("continue_workflow", { ...tokens, output: outputFor(reply) });
}
tell({ seen, complete: reply.isComplete === true });
await client.close();
process.exit(0);
