/**
 * `npm run docs [-- --url ADDRESS] [FOLDER]`: writes the documentation as files for any web server, by default into dist/docs, which is emptied
 * before. `--url` is the service's address in the examples, by default that of the guides.
 */
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withOwnNode } from "../clients/own-node.ts";
import { writeStaticDocs } from "./static-docs.ts";

const DEFAULT_FOLDER = join(fileURLToPath(new URL("../..", import.meta.url)), "dist/docs");

const { values, positionals } = parseArgs({
  options: { url: { type: "string", default: "http://127.0.0.1:8080" } },
  allowPositionals: true,
});
const folder = positionals[0] ?? DEFAULT_FOLDER;
if (folder === DEFAULT_FOLDER) rmSync(folder, { recursive: true, force: true });
else if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`"${folder}" is not empty`);
const public_url = values.url.replace(/\/+$/, "");
const { files, bytes } = await withOwnNode({ TRAWL_PUBLIC_URL: public_url }, (address) =>
  writeStaticDocs(address, public_url, folder),
);
console.log(
  `${folder}: ${files} files, ${bytes} bytes. Serve it with any web server; its start is index.html`,
);
