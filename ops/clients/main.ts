/** `npm run clients`: writes the generated files of the clients anew. `test/scenarios/typescript-client.test.ts` fails when they are old. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiDocument } from "./api-document.ts";
import { generatedFiles } from "./generated-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
for (const [name, content] of generatedFiles(await apiDocument(), root)) {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), content);
  console.log(`${name}: ${content.split("\n").length} lines`);
}
