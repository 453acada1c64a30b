/**
 * Which partitions have an owner, as every node sees it by the leases, gateways too. A message for a partition that no
 * node owns would wait on the bus until its caller's timeout; with this its caller is told soon.
 *
 * A partition that moves has no owner for a moment. It is deserted when it has had none for GRACE_MS, or at once when no
 * node is present that could claim it.
 */
import type { Node } from "../../node-record.ts";
import { usesTable } from "../../placement.ts";
import type { Leases, LeaseSurvey, StoredTable } from "../../ports/leases.ts";

/**
 * The time from any look to the next one. `generation.ts` looks once a second, so this timer fires where it could not; a
 * shorter time would make two looks a second.
 */
const CHECK_MS = 1_200;
/** While a partition has no owner. */
const CHECK_SOON_MS = 400;
/**
 * Nodes claim a free partition within one round of 0.8 s. A lease lapses 3 s after its owner died, so callers of a
 * partition that no node claims are told within 5 s once these have passed.
 */
const GRACE_MS = 4_000;

export interface PartitionWatch {
  /** Looks now, and answers with what was found after this call. Throws Fault bus_unreachable. */
  readonly refresh: () => Promise<LeaseSurvey>;
  /** By the last look. */
  readonly isDeserted: (partition: number) => boolean;
  /** The number of deserted partitions by the last look. */
  readonly deserted: () => number;
  readonly stop: () => void;
}

/** `onDeserted` is called after each look that found deserted partitions. */
export function watchPartitions(
  {
    clock,
    leases,
    metrics,
    log,
    partitionCount,
  }: Pick<Node, "clock" | "metrics" | "log"> & {
    readonly leases: Leases;
    readonly partitionCount: number;
  },
  onDeserted: () => void,
): PartitionWatch {
  /** Partitions without an owner, and since when on the monotonic clock. */
  const unownedSince = new Map<number, number>();
  let seen: StoredTable | null = null;
  let hasCandidates = true;
  let reported = false;
  let isStopped = false;
  let timer: Disposable | null = null;
  const began_ms = clock.mono();

  const isDeserted = (partition: number): boolean => {
    const since_ms = unownedSince.get(partition);
    return since_ms !== undefined && (!hasCandidates || clock.mono() - since_ms >= GRACE_MS);
  };
  const deserted = (): number => [...unownedSince.keys()].filter(isDeserted).length;

  async function refresh(): Promise<LeaseSurvey> {
    try {
      return await look();
    } finally {
      checkLater();
    }
  }

  /** The table says it while an assigner looks after it. */
  async function ownersInTable(): Promise<(partition: number) => boolean> {
    const { table_revision, assigner_revision } = await leases.look();
    if (table_revision !== (seen?.revision ?? 0)) seen = await leases.table();
    const assignments = seen?.table.assignments;
    const held = assigner_revision > 0 ? null : await leases.heldNames();
    return (partition) => {
      const lease = assignments?.[partition]?.lease ?? null;
      return lease !== null && (held === null || held.has(lease));
    };
  }

  async function look(): Promise<LeaseSurvey> {
    const survey = await leases.survey();
    const isOwned = usesTable(partitionCount)
      ? await ownersInTable()
      : (partition: number) => survey.held.has(partition);
    for (let partition = 0; partition < partitionCount; partition++) {
      if (isOwned(partition)) unownedSince.delete(partition);
      else if (!unownedSince.has(partition)) unownedSince.set(partition, clock.mono());
    }
    metrics.gauge("trawl_partitions", { state: "unowned" }, unownedSince.size);
    metrics.gauge("trawl_partitions", { state: "owned" }, partitionCount - unownedSince.size);
    hasCandidates = unownedSince.size === 0 || (await leases.members()).length > 0;
    report();
    return survey;
  }

  function report(): void {
    // Nodes that start together find no owner at first.
    if (clock.mono() - began_ms < GRACE_MS) return;
    const count = deserted();
    if (count > 0 && !reported) log.error("Partitions have no owner", { partitions: count, hasCandidates });
    if (count === 0 && reported) log.info("Every partition has an owner again");
    reported = count > 0;
    if (reported) onDeserted();
  }

  function checkLater(): void {
    timer?.[Symbol.dispose]();
    if (isStopped) return;
    const after_ms = unownedSince.size > 0 ? CHECK_SOON_MS : CHECK_MS;
    // Not reached: what was seen last stands, and calls over the bus fail by themselves.
    timer = clock.at(clock.now() + after_ms, () => void refresh().catch(() => {}));
  }

  void refresh().catch(() => {});
  return {
    refresh,
    isDeserted,
    deserted,
    stop() {
      isStopped = true;
      timer?.[Symbol.dispose]();
    },
  };
}
