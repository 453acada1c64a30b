import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const program = (path: string): string => new URL(`../../${path}`, import.meta.url).href;

test("a node's program, with the drivers of a cluster, does not load Node's own fetch", () => {
  const parts = [
    "ops/compose.ts",
    "cluster/adapters/documents/documents.mongo.ts",
    "cluster/adapters/blobs/blobs.s3.ts",
    "cluster/adapters/bus/bus.nats.ts",
  ].map(program);
  const code = `for (const part of ${JSON.stringify(parts)}) await import(part);
const fetches = () => process.moduleLoadList.filter((name) => name.includes("deps/undici"));
const before = fetches();
void globalThis.Headers;
console.log(JSON.stringify({ before, after: fetches() }));`;
  const words = ["--disable-warning=ExperimentalWarning", `--import=${program("ops/code-cache.mjs")}`];
  const { stdout } = spawnSync(process.execPath, [...words, "--input-type=module", "--eval", code], {
    encoding: "utf8",
    env: {},
  });
  // The second look shows that the first one would have seen it.
  expect(JSON.parse(stdout)).toEqual({ before: [], after: ["NativeModule internal/deps/undici/undici"] });
}, 60_000);
