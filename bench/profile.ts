/** Where the CPU time of a process went, from the last profile of `--cpu-prof` in a folder: by module and by function. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const TOP = 30;

/** Own time in percent of the time in which the process was not idle. */
export function profileTable(folder: string): string {
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith(".cpuprofile"))
    .map((name) => join(folder, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]!;
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(newest, "utf8")) as CpuProfile;
  const byId = new Map(nodes.map((node) => [node.id, node.callFrame]));
  const modules = new Map<string, number>();
  const functions = new Map<string, number>();
  let busy_us = 0;
  const add = (to: Map<string, number>, name: string, us: number): void => {
    to.set(name, (to.get(name) ?? 0) + us);
  };
  for (const [index, id] of samples.entries()) {
    const { functionName, url, lineNumber } = byId.get(id)!;
    if (functionName === "(idle)") continue;
    const us = timeDeltas[index]!;
    busy_us += us;
    const file = shortName(url);
    add(modules, file || functionName, us);
    add(functions, `${functionName || "(anonymous)"} ${file}${file && `:${lineNumber + 1}`}`, us);
  }
  const rows = (from: Map<string, number>): string =>
    [...from]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, TOP)
      .map(([name, us]) => `${((100 * us) / busy_us).toFixed(1).padStart(5)} %  ${name}`)
      .join("\n");
  return `By module\n${rows(modules)}\n\nBy function\n${rows(functions)}`;
}

const shortName = (url: string): string =>
  url
    .replace(/^file:\/\//, "")
    .replace(/^.*\/node_modules\//, "")
    .replace(`${process.cwd()}/`, "");
