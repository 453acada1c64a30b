/**
 * The slot store of an egress in the document store: each change is a compare-and-set on one record, so whoever believes
 * to own the limiter, also two at once, reads again when another was faster. What a change is, rate.ts says.
 */
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { Nullable } from "../../../schemas/common.ts";
import { type SlotRecord, INITIAL_RECORD } from "./rate.ts";

const Stored = Type.Object({
  next_ms: Type.Number(),
  last_ms: Type.Array(Type.Number()),
  pause: Type.Object({
    until_ms: Type.Number(),
    level: Type.Integer(),
    episode: Type.Integer(),
    reason: Nullable(Type.String()),
  }),
  probe: Nullable(Type.Object({ slot_ms: Type.Number(), until_ms: Type.Number() })),
});
const slotRecordCheck = Compile(Stored);

export interface SlotStore {
  /**
   * Applies a rule to what is stored and stores what it came to. The rule may be applied several times, each time to
   * what is stored by then and at the time it is then. Throws Fault documents_unreachable.
   */
  readonly change: <T>(
    egress: string,
    rule: (record: SlotRecord, now_ms: number) => SlotChange<T>,
  ) => Promise<T>;
}

export type SlotChange<T> = T & { readonly record: SlotRecord };

const COLLECTION = "filing_slots";
/** Two owners get in each other's way once or twice; more than this is a store that lies. */
const MAX_ATTEMPTS = 50;

interface CachedRecord {
  readonly record: SlotRecord;
  readonly version: number;
}

export function slotStore(documents: Documents, clock: Clock): SlotStore {
  /** As this process last read or wrote them: a guess, which compare-and-set proves or refutes. */
  const cachedRecords = new Map<string, CachedRecord>();

  async function readRecord(egress: string): Promise<CachedRecord> {
    const document = await documents.get(COLLECTION, egress);
    const record = slotRecordCheck.Check(document?.value) ? (document!.value as SlotRecord) : INITIAL_RECORD;
    return { record, version: document?.version ?? 0 };
  }

  return {
    async change(egress, rule) {
      let isCached = cachedRecords.has(egress);
      let cached = cachedRecords.get(egress) ?? (await readRecord(egress));
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
        const changed = rule(cached.record, clock.now());
        if (changed.record === cached.record) {
          if (!isCached) return changed;
          // Nothing to store, so nothing to prove a guess by.
        } else if (await documents.put(COLLECTION, egress, changed.record, cached.version)) {
          cachedRecords.set(egress, { record: changed.record, version: cached.version + 1 });
          return changed;
        }
        cached = await readRecord(egress);
        cachedRecords.set(egress, cached);
        isCached = false;
      }
      cachedRecords.delete(egress);
      throw new Fault(
        "documents_unreachable",
        `Cannot change the slot store of "${egress}": others always come first`,
      );
    },
  };
}
