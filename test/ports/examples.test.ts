/** The example of cluster/examples, run as a program of its own on each set of engines. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { engines } from "../harness/engines.ts";

const { bus, documents } = await engines("bus", "documents");
const folder = mkdtempSync(join(tmpdir(), "trawl-counter-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: readonly string[]): Promise<string> {
  const program = ["--disable-warning=ExperimentalWarning", "cluster/examples/run-counter.ts", ...args];
  return (await promisify(execFile)(process.execPath, program)).stdout.trim();
}

test("a counter keeps its count in a file from one process to the next", async () => {
  const file = join(folder, "counters.sqlite");
  expect([await run(file), await run(file)]).toEqual(["{ count: 1 }", "{ count: 2 }"]);
});

test.skipIf(!bus || !documents)(
  "a counter keeps its count in a cluster from one node to the next",
  async () => {
    const store = new URL(documents!["TRAWL_DOCUMENTS"]!);
    store.pathname = "/counters";
    const nats = `${bus!["TRAWL_BUS"]}/counters`;
    expect([await run(store.href, nats), await run(store.href, nats)]).toEqual([
      "{ count: 1 }",
      "{ count: 2 }",
    ]);
  },
);
