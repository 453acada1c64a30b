/** A service in small, started by workers.test.ts: `idle` does one task and lets go, `hang` waits to be killed. */
import { processWorkers } from "../../cluster/adapters/workers/workers.processes.ts";
import type { PoolSettings } from "../../cluster/ports/workers.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";

const pool: PoolSettings = {
  size: 2,
  warm: 2,
  idle_ms: 30_000,
  heap_mb: 64,
  max_rss_mb: 512,
  replace_above_rss_mb: 300,
  cpu_ms: 60_000,
  wall_ms: 60_000,
  stuck_ms: 15_000,
  max_tasks: 100,
};
const workers = processWorkers({
  tasks: new URL("./workers.tasks.ts", import.meta.url),
  pools: { plain: pool },
  queue_limit: 10,
  ...silentTelemetry(),
});
const work = await workers.run<number>("plain", { do: "echo", value: 1 });
if (process.argv[2] === "idle") process.stdout.write(`${JSON.stringify(work)}\n`);
else {
  // The pids of both: each has to answer while the other waits.
  const pid = () => workers.run<number>("plain", { do: "what", of: "pid" });
  void workers.run("plain", { do: "wait", ms: 500 });
  const one = await pid();
  void workers.run("plain", { do: "hang" });
  const other = await workers.run<number>("plain", { do: "wait", ms: 1 }).then(pid);
  process.send!([one, other].flatMap((its) => (its.kind === "done" ? [its.value] : [])));
}
