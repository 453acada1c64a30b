/**
 * The slot record of an egress in the document store. Each change is a compare-and-set on one record: a second limiter
 * of the same egress (after a failover, for example) loses the race, reads the record again and applies its rule to
 * that. The rules are slots.ts.
 */
import { Type } from "typebox";
import { compiled } from "../../schemas/compiled.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { Pause } from "../../schemas/upstream.ts";
import { INITIAL_RECORD, type SlotRecord } from "./slots.ts";

const slotRecordCheck = compiled(
  Type.Object({
    next_ms: Type.Number(),
    last_ms: Type.Array(Type.Number()),
    pause: Pause,
    probe: Type.Union([Type.Null(), Type.Object({ slot_ms: Type.Number(), until_ms: Type.Number() })]),
  }),
);

export interface SlotStore {
  /**
   * Applies a rule to the stored record and stores the result. After a lost race the rule is applied again, to the
   * record and at the time of then. Throws Fault documents_unreachable.
   */
  readonly change: <T>(
    egress: string,
    rule: (record: SlotRecord, now_ms: number) => SlotChange<T>,
  ) => Promise<T>;
}

export type SlotChange<T> = T & { readonly record: SlotRecord };

export interface SlotStoreDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  /** One record per egress stands in this collection. */
  readonly collection: string;
}

/** Two limiters lose a race once or twice; this many lost races mean that the store does not work. */
const MAX_ATTEMPTS = 50;

interface CachedRecord {
  readonly record: SlotRecord;
  readonly version: number;
}

export function slotStore({ documents, clock, collection }: SlotStoreDeps): SlotStore {
  /** As this process last read or wrote them. A copy may be out of date; compare-and-set finds that out. */
  const cachedRecords = new Map<string, CachedRecord>();

  async function readRecord(egress: string): Promise<CachedRecord> {
    const stored = await documents.get(collection, egress);
    const record = slotRecordCheck.check(stored?.value) ? stored!.value : INITIAL_RECORD;
    return { record: record as SlotRecord, version: stored?.version ?? 0 };
  }

  return {
    async change(egress, rule) {
      let isCached = cachedRecords.has(egress);
      let current = cachedRecords.get(egress) ?? (await readRecord(egress));
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const changed = rule(current.record, clock.now());
        if (changed.record === current.record) {
          // Without a write nothing proves that a copy is current, so the record is read.
          if (!isCached) return changed;
        } else if (await documents.put(collection, egress, changed.record, current.version)) {
          cachedRecords.set(egress, { record: changed.record, version: current.version + 1 });
          return changed;
        }
        current = await readRecord(egress);
        cachedRecords.set(egress, current);
        isCached = false;
      }
      cachedRecords.delete(egress);
      throw new Fault(
        "documents_unreachable",
        `Cannot change the slots of "${egress}": another limiter always writes first`,
      );
    },
  };
}
