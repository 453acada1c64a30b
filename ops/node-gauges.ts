/** Gauges that no event changes: every 15 s this node looks at its disk, its partitions, the ledger and what it has to do. */
import { statfs } from "node:fs/promises";
import type { NodeStats } from "../cluster/embedded.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Ledger } from "../gateway/ledger.ts";
import type { BuildInfo } from "./build-info.ts";

const EVERY_MS = 15_000;

interface NodeGaugesDeps {
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly build: BuildInfo;
  /** The data folder. */
  readonly folder: string;
  readonly stats: () => NodeStats & { readonly pending_asks: number };
  readonly ownedPartitions: () => number;
  readonly ledger: Pick<Ledger, "lag">;
}

export function nodeGauges(deps: NodeGaugesDeps): Disposable {
  const { clock, metrics, build, folder } = deps;
  const { version, commit } = build;
  metrics.gauge(
    "trawl_build_info",
    { version, commit: commit ?? "unknown", node_version: process.version },
    1,
  );
  let timer: Disposable | null = null;
  let isStopped = false;

  async function look(): Promise<void> {
    const { pending_asks, running_work } = deps.stats();
    metrics.gauge("trawl_actor_pending_asks", {}, pending_asks);
    metrics.gauge("trawl_actor_background_work", {}, running_work);
    metrics.gauge("trawl_partitions_owned", {}, deps.ownedPartitions());
    const { rows, lag_ms } = deps.ledger.lag();
    metrics.gauge("trawl_ledger_rows_waiting", {}, rows);
    metrics.gauge("trawl_ledger_lag_seconds", {}, lag_ms / 1_000);
    const disk = await statfs(folder);
    metrics.gauge("trawl_disk_free_bytes", {}, disk.bavail * disk.bsize);
    metrics.gauge("trawl_disk_size_bytes", {}, disk.blocks * disk.bsize);
  }

  function run(): void {
    // A folder that cannot be read leaves the last figures; the stores report it by themselves.
    void look()
      .catch(() => {})
      .finally(() => {
        if (!isStopped) timer = clock.at(clock.now() + EVERY_MS, run);
      });
  }

  run();
  return {
    [Symbol.dispose]() {
      isStopped = true;
      timer?.[Symbol.dispose]();
    },
  };
}
