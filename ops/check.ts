/**
 * npm run check: everything that can be known of the code without running the service. Types, lint, format, unused
 * code, then the architecture as tests. Stops at the first that fails.
 */
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL("..", import.meta.url));
const bin = join(home, "node_modules", ".bin");
/** The pinned Node first: tools started by their script's first line must not meet the system's. */
const env = { PATH: [dirname(process.execPath), bin, process.env["PATH"] ?? ""].join(delimiter) };

const CHECKS: readonly (readonly [string, ...string[]])[] = [
  ["tsc"],
  // On its own: without Node's types, as a browser has it.
  ["tsc", "--noEmit", "-p", "clients/typescript"],
  ["oxlint", "--type-aware", "--deny-warnings"],
  ["oxfmt", "--check"],
  ["knip"],
  [
    "vitest",
    "run",
    "test/floors.test.ts",
    "test/tidy.test.ts",
    "test/actors/reading/article/article-model.test.ts",
  ],
];

for (const [tool, ...args] of CHECKS) {
  const { status } = spawnSync(join(bin, tool), args, {
    cwd: home,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (status !== 0) {
    process.stderr.write(`Check failed: ${[tool, ...args].join(" ")}\n`);
    process.exit(1);
  }
}
process.stdout.write("Types, lint, format, unused code and floors are in order\n");
