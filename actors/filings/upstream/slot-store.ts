/**
 * The ledger of an egress in the document store: each change is a compare-and-set on one record, so whoever believes
 * to own the limiter, also two at once, reads again when another was faster. What a change is, rate.ts says.
 */
import { Type } from "typebox";
import { Compile } from "typebox/compile";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import { Nullable } from "../../../schemas/common.ts";
import { type Ledger, UNTOUCHED } from "./rate.ts";

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
const stored = Compile(Stored);

export interface Ledgers {
  /**
   * Applies a rule to what is stored and stores what it came to. The rule may be applied several times, each time to
   * what is stored by then and at the time it is then. Throws Fault documents_unreachable.
   */
  readonly change: <T>(egress: string, rule: (ledger: Ledger, now_ms: number) => Changed<T>) => Promise<T>;
}

export type Changed<T> = T & { readonly ledger: Ledger };

const COLLECTION = "filing_ledger";
/** Two owners get in each other's way once or twice; more than this is a store that lies. */
const MAX_TRIES = 50;

interface Copy {
  readonly ledger: Ledger;
  readonly version: number;
}

export function ledgersIn(documents: Documents, clock: Clock): Ledgers {
  /** As this process last read or wrote them: a guess, which compare-and-set proves or refutes. */
  const copies = new Map<string, Copy>();

  async function read(egress: string): Promise<Copy> {
    const found = await documents.get(COLLECTION, egress);
    const ledger = stored.Check(found?.value) ? (found!.value as Ledger) : UNTOUCHED;
    return { ledger, version: found?.version ?? 0 };
  }

  return {
    async change(egress, rule) {
      let isGuess = copies.has(egress);
      let copy = copies.get(egress) ?? (await read(egress));
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const changed = rule(copy.ledger, clock.now());
        if (changed.ledger === copy.ledger) {
          if (!isGuess) return changed;
          // Nothing to store, so nothing to prove a guess by.
        } else if (await documents.put(COLLECTION, egress, changed.ledger, copy.version)) {
          copies.set(egress, { ledger: changed.ledger, version: copy.version + 1 });
          return changed;
        }
        copy = await read(egress);
        copies.set(egress, copy);
        isGuess = false;
      }
      copies.delete(egress);
      throw new Fault(
        "documents_unreachable",
        `Cannot change the ledger of "${egress}": others always come first`,
      );
    },
  };
}
