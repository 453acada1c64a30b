/**
 * How long a function may be. Over 150 lines it is one algorithm, says so in its comment, and stands in this list;
 * anything else that long holds several ideas and becomes several functions.
 */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { parseSync, Visitor } from "oxc-parser";
import { expect, test } from "vitest";

const MAX_LINES = 150;

/** A file and the function's name, and the one thing it does. */
const ALGORITHMS: Readonly<Record<string, string>> = {
  "actors/work/jobs/frontier.ts frontier": "which item is next: lanes by site, pauses, cool-downs",
  "actors/reading/article/tree.ts buildTree": "a tree of blocks from a stream of tags, without recursion",
  "cluster/adapters/bus/bus.nats.ts natsBus": "streams, consumers and acknowledgements of one connection",
  "cluster/adapters/egress/egress.proxy.ts egressProxy": "one proxy server: CONNECT, plain requests, limits",
  "cluster/adapters/workers/workers.processes.ts pool":
    "child processes: tasks assigned, limits enforced, children replaced",
};

interface LongFunction {
  readonly name: string;
  readonly lines: number;
}

/** Functions of one source text that are longer than MAX_LINES, with the name they are bound to. */
function longFunctions(file: string, text: string): LongFunction[] {
  if (text.split("\n").length <= MAX_LINES) return [];
  const { program, errors } = parseSync(file, text);
  expect(errors).toEqual([]);
  const long: LongFunction[] = [];
  const check = (node: { type: string; start: number; end: number }, name?: string): void => {
    const lines = text.slice(node.start, node.end).split("\n").length;
    if (lines > MAX_LINES) long.push({ name: name ?? nameOf(node), lines });
  };
  const nameOf = (node: { type: string; start: number }): string =>
    text
      .slice(0, node.start)
      .match(/(?:const|let)\s+(\w+)[^=;]*=\s*(?:async\s*)?$|(\w+)\s*:\s*(?:async\s*)?$/)
      ?.slice(1)
      .find(Boolean) ?? "(unnamed)";
  new Visitor({
    FunctionDeclaration: (node) => check(node, node.id?.name ?? "(default)"),
    ArrowFunctionExpression: (node) => check(node),
    FunctionExpression: (node) => check(node),
  }).visit(program);
  return long;
}

const tops = ["schemas", "cluster", "actors", "gateway", "node", "ops"];
const files = await Array.fromAsync(glob(tops.map((top) => `${top}/**/*.ts`)));

test("a function over 150 lines is one algorithm and is in the list", () => {
  const long = files
    .toSorted()
    .flatMap((file) => longFunctions(file, readFileSync(file, "utf8")).map(({ name }) => `${file} ${name}`));
  expect(long.toSorted()).toEqual(Object.keys(ALGORITHMS).toSorted());
});

test("the lines of a function are counted from its first to its last", () => {
  const body = (lines: number) => `export const long = () => {\n${"  f();\n".repeat(lines - 2)}};\n`;
  expect(longFunctions("a.ts", body(MAX_LINES))).toEqual([]);
  expect(longFunctions("a.ts", body(MAX_LINES + 1))).toEqual([{ name: "long", lines: MAX_LINES + 1 }]);
});
