// The official TypeScript client: both forms of the result, since a host may hand on either. It holds the structured
// one against the output schema by itself.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, bridge, conversation] = process.argv.slice(2);
const from = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: bridge, args: [], env: process.env }));
await client.listTools();
const result = await client.callTool({ name: "get_conversation", arguments: { id: conversation } });
console.log(result.content[0].text);
console.log(JSON.stringify(result.structuredContent));
await client.close();
