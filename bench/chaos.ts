/**
 * npm run chaos [-- --runs 50] [--seed N] [--fault "kill two"] [--partitions 256] [--write]: runs of test/harness/chaos.ts one after the other, each
 * with a seed of its own (the first and those after it) and, one run after the other, every fault. Prints a line of proof
 * a run, the timeline of one that failed and the command that repeats it; ends with 1 when one failed. Needs the engines
 * (npm run engines -- --install-only) and two minutes for each run.
 */
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { MIN_PARTITIONS } from "../cluster/placement.ts";
import { chaos, FAULT_NAMES, type FaultName, type Run } from "../test/harness/chaos.ts";
import { machine } from "./harness.ts";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "1" },
    seed: { type: "string", default: String(randomInt(2 ** 31)) },
    fault: { type: "string" },
    fetches: { type: "string", default: "1000" },
    partitions: { type: "string", default: String(MIN_PARTITIONS) },
    minutes: { type: "string", default: "600" },
    write: { type: "boolean", default: false },
  },
});
const fault = values.fault as FaultName | undefined;
if (fault !== undefined && !FAULT_NAMES.includes(fault))
  throw new TypeError(`Cannot do "${fault}": it is none of ${FAULT_NAMES.join(", ")}`);

const began = performance.now();
const runs: (Run & { readonly load: number })[] = [];
let unrun = 0;
const seeds = Array.from({ length: Number(values.runs) }, (_, n) => Number(values.seed) + n);
for (const [n, seed] of seeds.entries()) {
  if (performance.now() - began > Number(values.minutes) * 60_000) break;
  // Many runs do everything there is; a single one what its seed says.
  const due = fault ?? (seeds.length > 1 ? FAULT_NAMES[n % FAULT_NAMES.length] : undefined);
  const options = {
    seed,
    fetches: Number(values.fetches),
    partitions: Number(values.partitions),
    ...(due && { fault: due }),
  };
  const run = await chaos(options).catch((problem: unknown) => {
    // Before the first fetch: of this run there is nothing to say.
    console.log(`not run: seed=${seed}: ${String(problem).slice(0, 300)}`);
    unrun++;
    return undefined;
  });
  if (run === undefined) continue;
  if (run === null) throw new Error("Cannot run: engines are missing; npm run engines -- --install-only");
  runs.push({ ...run, load: Math.round(loadavg()[0]! * 10) / 10 });
  console.log(`${run.broken.length === 0 ? "held" : "BROKEN"} ${run.proof}`);
  if (run.broken.length > 0) {
    console.log([...run.broken, ...run.timeline].map((line) => `  ${line}`).join("\n"));
    console.log(
      `  again: npm run chaos -- --seed ${seed} --fault "${run.fault}" --partitions ${values.partitions}`,
    );
  }
}
const broken = runs.filter((run) => run.broken.length > 0).length;
console.log(`${runs.length} runs, ${broken} broken, ${unrun} that did not begin`);
if (values.write) {
  const report = {
    command: `npm run chaos -- --runs ${values.runs} --seed ${values.seed} --partitions ${values.partitions}`,
    machine: machine(),
    runs: runs.length,
    broken,
    did_not_begin: unrun,
    results: runs.map(({ timeline, broken: laws, ...run }) => ({
      ...run,
      broken: laws,
      ...(laws.length > 0 && { timeline }),
    })),
  };
  writeFileSync(
    `bench/results/${new Date().toISOString().slice(0, 10)}-chaos.json`,
    `${JSON.stringify(report, null, 1)}\n`,
  );
}
process.exit(broken > 0 ? 1 : 0);
