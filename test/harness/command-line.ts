/** The command line of the program in this process, as ops/main.ts runs it, for commands that only set a scenario up: a process takes a third of a second of CPU time. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { trawl } from "../../ops/cli.ts";
import { openNodeDirectory } from "../../ops/cluster.ts";
import { readConfig } from "../../ops/config.ts";
import { readOperatorKey } from "../../ops/operator-key.ts";
import type { Environment } from "../../ops/settings-reader.ts";
import { openDocuments } from "../../ops/stores.ts";

const readFile = (path: string): string => readFileSync(path, "utf8");

/** Output of the command on standard output. Throws its message when it fails. */
export async function runCommand(environment: Environment, words: readonly string[]): Promise<string> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await trawl(words, {
    environment,
    config: () => readConfig(environment, readFile),
    readFile,
    openDocuments,
    openNodeDirectory: ({ cluster }) => openNodeDirectory(cluster.bus),
    readOperatorKey,
    now: () => Date.now(),
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
    starting: () => Promise.reject(new Error("A service is a process of its own")),
    version: "0.0.0",
  });
  assert(code === 0, `trawl ${words[0]} ended with ${code}: ${[...out, ...err].join("\n")}`);
  return out.join("\n");
}
