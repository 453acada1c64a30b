/**
 * Slots in use by run, as the document store has them: a slot that a domain has given stands in its stored state for exactly the run
 * that has it, until that run gives it back or loses its key; and what was given back does not stay.
 */
import type { Lease, Politeness } from "../../actors/crawl/domain/politeness.ts";
import type { WorkContext } from "../../cluster/actor.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { MAX_AHEAD_MS } from "./nemeses.ts";

/** A run of a fetch that was told of a slot. */
export interface SlotRun {
  readonly site: string;
  readonly fetch_id: string;
  readonly run_id: string;
  readonly work: WorkContext;
}

export interface HeldSlot {
  /** Its run sends the release. */
  readonly releasing: () => void;
  /** The bus, or the domain, has taken the release. */
  readonly released: () => void;
}

/** A next owner of the domain counts the slot for ten seconds from when it began, by its own clock. */
const ORPHANED_MS = 10_000;
const CERTAIN_MS = ORPHANED_MS - 2 * MAX_AHEAD_MS;
/** A slot that was given back is stored as free with the next state, this much later at most where nothing breaks. */
const STORED_MS = 10_000;

interface Holder extends SlotRun {
  /** When its slot was stored. */
  readonly granted_ms: number;
}

export interface Slots {
  readonly hold: (run: SlotRun) => HeldSlot;
  readonly onStored: (site: string, politeness: Politeness | null) => void;
  /** The bus has lost the release of this run. */
  readonly onReleaseLost: (site: string, run: Pick<SlotRun, "fetch_id" | "run_id">) => void;
  /** The broken invariant, as a sentence; null: all is well. */
  readonly wrong: () => string | null;
  /** Slots that were given back and are stored as in use. */
  readonly leaked: () => readonly string[];
}

/** Whether the run still has its key, so that it may send. */
export const isUnderWay = ({ work }: Pick<SlotRun, "work">): boolean =>
  work.ownsKey() && !work.signal.aborted;

const nameOf = ({ fetch_id, run_id }: Pick<SlotRun, "fetch_id" | "run_id">): string =>
  `${fetch_id} ${run_id}`;

export function slotsInUse(clock: Pick<Clock, "now">): Slots {
  const stored = new Map<string, readonly Lease[]>();
  /** By site and run: when its slot was stored first. */
  const first = new Map<string, number>();
  const holders = new Map<HeldSlot, Holder>();
  const givenBack = new Map<string, { readonly started_ms: number; readonly at_ms: number }>();
  /** By site: when its state was stored last. */
  const stored_ms = new Map<string, number>();
  const problems: string[] = [];

  const keyOf = (site: string, run: Pick<SlotRun, "fetch_id" | "run_id">): string => `${site} ${nameOf(run)}`;

  function check(site: string): void {
    const leases = stored.get(site) ?? [];
    for (const holder of holders.values()) {
      if (holder.site !== site || clock.now() - holder.granted_ms >= CERTAIN_MS) continue;
      if (!isUnderWay(holder)) continue;
      if (!leases.some((lease) => nameOf(lease) === nameOf(holder)))
        problems.push(`${site} has freed the slot of run ${nameOf(holder)}, which is under way`);
    }
  }

  return {
    hold(run) {
      const lease = stored.get(run.site)?.find((each) => nameOf(each) === nameOf(run));
      const granted_ms = first.get(keyOf(run.site, run)) ?? -Infinity;
      if (granted_ms === -Infinity)
        problems.push(`${run.site} told run ${nameOf(run)} of a slot that it had not stored`);
      const rival = [...holders.values()].find(
        (holder) => holder.site === run.site && holder.fetch_id === run.fetch_id && isUnderWay(holder),
      );
      // A run that has lost its key may hear of its slot late, when the next run has it: it sends nothing.
      if (rival && isUnderWay(run))
        problems.push(`${run.site} gave runs ${nameOf(rival)} and ${nameOf(run)} one slot`);
      const { started_ms = -Infinity } = lease ?? {};
      const held: HeldSlot = {
        releasing: () => void holders.delete(held),
        released: () => void givenBack.set(keyOf(run.site, run), { started_ms, at_ms: clock.now() }),
      };
      holders.set(held, { ...run, granted_ms });
      check(run.site);
      return held;
    },
    onStored(site, politeness) {
      if (politeness === null) return void stored.delete(site);
      stored.set(site, politeness.leases);
      stored_ms.set(site, clock.now());
      for (const lease of politeness.leases)
        if (!first.has(keyOf(site, lease))) first.set(keyOf(site, lease), clock.now());
      check(site);
    },
    onReleaseLost: (site, run) => void givenBack.delete(keyOf(site, run)),
    wrong: () => problems[0] ?? null,
    leaked() {
      /** By a node that went on, and not for a next owner that does not know of the release. */
      const isKept = (site: string, { started_ms, lapses_ms, ...run }: Lease): boolean => {
        const back = givenBack.get(keyOf(site, run));
        const at_ms = stored_ms.get(site)!;
        // A message that comes again may have been granted a slot of its own.
        if (back === undefined || started_ms > back.started_ms || at_ms - back.at_ms < STORED_MS)
          return false;
        return lapses_ms - at_ms > ORPHANED_MS + 2 * MAX_AHEAD_MS;
      };
      return [...stored].flatMap(([site, leases]) =>
        leases
          .filter((lease) => isKept(site, lease))
          .map((lease) => `${site} keeps the slot of run ${nameOf(lease)}, which was given back`),
      );
    },
  };
}
