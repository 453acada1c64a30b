/** node ops/bundle-types.mjs HOME MAKING MADE: typebox of the program in HOME as few modules, written to the folder MAKING that is then called MADE (code-cache.mjs). */
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const [home, making, made] = process.argv.slice(2);
const packaged = join(home, "node_modules/typebox/build");
const entries = ["compile", "error", "format", "guard", "schema", "system", "type", "value"];
const input = Object.fromEntries(entries.map((name) => [name, join(packaged, name, "index.mjs")]));
try {
  const bundle = await rolldown({
    input: { ...input, typebox: join(packaged, "index.mjs") },
    platform: "node",
    logLevel: "silent",
  });
  await bundle.write({ dir: making, entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" });
  await bundle.close();
  renameSync(making, made);
} catch {
  rmSync(making, { recursive: true, force: true });
}
