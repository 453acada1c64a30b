/**
 * The slot record of an egress in the document store. Each change is a compare-and-set on one record: a second limiter
 * of the same egress (after a failover, for example) loses the race, reads the record again and applies its rule to
 * that. The rules are slots.ts.
 */
import { Type } from "typebox";
import { compiled } from "../../../cluster/contracts/compiled.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents, Versioned } from "../../../cluster/ports/documents.ts";
import type { Change, Collection } from "../../../cluster/collection.ts";
import { Pause } from "../../../schemas/upstream.ts";
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
   * record and at the time of then. Throws Fault.
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
  /** The collection of the slot records, one per egress. */
  readonly collection: Collection<SlotRecord>;
}

export function slotStore({ documents, clock, collection }: SlotStoreDeps): SlotStore {
  /** As this process last read or wrote them. A copy may be out of date; compare-and-set finds that out. */
  const copies = new Map<string, Versioned<SlotRecord>>();

  return {
    async change(egress, rule) {
      let changed: ReturnType<typeof rule> | null = null;
      const apply = (stored: SlotRecord | null): Change<SlotRecord> => {
        const record = slotRecordCheck.check(stored) ? (stored as SlotRecord) : INITIAL_RECORD;
        changed = rule(record, clock.now());
        return changed.record === record ? null : { value: changed.record };
      };
      const copy = copies.get(egress);
      copies.delete(egress);
      // Without a write nothing proves that a copy is current, so the record is read.
      const isCopyOfUse = copy !== undefined && apply(copy.value) !== null;
      const stored = await collection.update(documents, egress, apply, isCopyOfUse ? copy : undefined);
      if (stored !== null) copies.set(egress, stored);
      return changed!;
    },
  };
}
