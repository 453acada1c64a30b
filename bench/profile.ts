/**
 * Where the CPU time of a process went, from the last profile of `--cpu-prof` in a folder: by part of the work, by module and
 * by function.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: CallFrame;
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
  /** Microseconds of the system's monotonic clock, as `process.hrtime` has it. */
  readonly startTime: number;
}

/** The part of the process's life that is looked at, in microseconds of the monotonic clock, and the pages of that time. */
export interface ProfiledWork {
  readonly from_us: number;
  readonly to_us: number;
  readonly pages: number;
}

const TOP = 30;

/** Parts of the work by the file of the innermost function that has one of these; the first that fits counts. */
const PARTS: readonly (readonly [name: string, files: RegExp])[] = [
  ["transactions and syncs", /grouped-writes|durable-files/],
  ["documents: JSON and statements", /adapters\/documents\//],
  ["bodies: zstd, digest, rows", /adapters\/blobs\//],
  ["search index", /actors\/sources\/search\//],
  ["log", /sonic-boom|pino/],
  ["request to the origin", /adapters\/egress\/|node_modules\/undici|^undici|actors\/crawl\/tiers\/adapters/],
  ["reader processes: tasks and results", /adapters\/workers\/|ops\/extraction|actors\/reading\//],
  [
    "answer to the client, key, ledger",
    /^gateway\/|fetch\/feature\/|schemas\/ledger|uWebSockets|ops\/metered/,
  ],
  ["messages: copies, checks, mailboxes", /^cluster\/|^schemas\/|typebox/],
  ["actors and rules", /^actors\//],
];

/** Own time a page in the part of the process's life in which it fetched them, while it was not idle. */
export function profileTable(folder: string, { from_us, to_us, pages }: ProfiledWork): string {
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => join(folder, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]!;
  const profile = JSON.parse(readFileSync(newest, "utf8")) as CpuProfile;
  const { samples, timeDeltas } = profile;
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const parents = new Map(
    profile.nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)),
  );
  const [parts, modules, functions] = [
    new Map<string, number>(),
    new Map<string, number>(),
    new Map<string, number>(),
  ];
  let [busy_us, at_us] = [0, profile.startTime];
  const add = (to: Map<string, number>, name: string, us: number): void => {
    to.set(name, (to.get(name) ?? 0) + us);
  };
  for (const [index, id] of samples.entries()) {
    const us = timeDeltas[index]!;
    at_us += us;
    const { functionName, url, lineNumber } = frames.get(id)!;
    if (functionName === "(idle)" || at_us < from_us || at_us > to_us) continue;
    busy_us += us;
    const file = shortName(url);
    add(parts, partOf(id, frames, parents), us);
    add(modules, file || functionName, us);
    add(functions, `${functionName || "(anonymous)"} ${file}${file && `:${lineNumber + 1}`}`, us);
  }
  const rows = (from: Map<string, number>): string =>
    [...from]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, TOP)
      .map(([name, us]) => {
        const share = ((100 * us) / busy_us).toFixed(1).padStart(5);
        return `${(us / pages).toFixed(0).padStart(6)} us ${share} %  ${name}`;
      })
      .join("\n");
  const sum = `${(busy_us / pages).toFixed(0)} us a page`;
  return `By part (${sum})\n${rows(parts)}\n\nBy module\n${rows(modules)}\n\nBy function\n${rows(functions)}`;
}

function partOf(
  id: number,
  frames: ReadonlyMap<number, CallFrame>,
  parents: ReadonlyMap<number, number>,
): string {
  const { functionName } = frames.get(id)!;
  if (functionName === "(garbage collector)") return "garbage";
  for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
    const file = shortName(frames.get(at)!.url);
    const part = PARTS.find(([, files]) => files.test(file));
    if (part) return part[0];
  }
  return "Node and the rest";
}

const shortName = (url: string): string =>
  url
    .replace(/^file:\/\//, "")
    .replace(/^.*\/node_modules\//, "")
    .replace(`${process.cwd()}/`, "");
