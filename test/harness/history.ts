/**
 * Histories of what clients asked of a store while things broke, as Jepsen records them, and two checkers by Knossos' rules:
 * whether the operations on each key could have happened one at a time, each between its call and its answer, on a register that
 * is written by compare-and-set; and whether a lease had one holder at most.
 *
 * An operation ends in "ok", in "fail" (it did not happen) or in "info": whether it happened, or will, is unknown. One that is
 * "info" may have happened at any time after its call, or never.
 */
import type { Documents } from "../../cluster/ports/documents.ts";

export type Call =
  /** Answers what is stored; null: nothing is. */
  | { readonly kind: "get" }
  /** Answers whether this was the version. */
  | { readonly kind: "put"; readonly version: number; readonly value: unknown }
  | { readonly kind: "remove"; readonly version: number };

export interface Operation {
  readonly key: string;
  readonly call: Call;
  readonly called_ms: number;
  readonly answered_ms: number;
  readonly end: "ok" | "fail" | "info";
  /** Answer of an operation that is "ok". */
  readonly answer?: unknown;
}

/** The register: its value as JSON and its version; null: there is none. */
type Register = { readonly version: number; readonly value: string } | null;

/** The register after the operation; undefined: this answer cannot come from it. An answer that is unknown fits always. */
function apply(register: Register, { call, end, answer }: Operation): Register | undefined {
  const isUnknown = end === "info";
  if (call.kind === "get") {
    const seen = answer as { readonly version: number; readonly value: unknown } | null;
    const isSame = seen === null ? register === null : register?.version === seen.version;
    return isSame && (seen === null || register!.value === JSON.stringify(seen.value)) ? register : undefined;
  }
  const isCurrent = (register?.version ?? 0) === call.version && (call.kind === "put" || register !== null);
  // Without an effect, a write of which nothing is known need not have happened.
  if (isUnknown ? !isCurrent : isCurrent !== answer) return undefined;
  if (!isCurrent) return register;
  return call.kind === "remove" ? null : { version: call.version + 1, value: JSON.stringify(call.value) };
}

/**
 * The search of Wing, Gong and Lowe: an operation may be next when none that is left had been answered before it was called.
 * States that were reached before with the same operations are not searched again.
 */
function isLinearizable(history: readonly Operation[]): boolean {
  const operations = history
    .filter(({ end, call }) => end === "ok" || (end === "info" && call.kind !== "get"))
    .map((operation) => ({
      ...operation,
      ends_ms: operation.end === "ok" ? operation.answered_ms : Infinity,
    }))
    .toSorted((a, b) => a.called_ms - b.called_ms);
  const seen = new Set<string>();
  const open: { readonly done: ReadonlySet<number>; readonly first: number; readonly register: Register }[] =
    [{ done: new Set(), first: 0, register: null }];
  for (let state = open.pop(); state; state = open.pop()) {
    const { done, register } = state;
    let { first } = state;
    while (done.has(first)) first++;
    let earliest_ms = Infinity;
    let isOver = true;
    const candidates: number[] = [];
    for (let n = first; n < operations.length && operations[n]!.called_ms <= earliest_ms; n++) {
      if (done.has(n)) continue;
      const { ends_ms } = operations[n]!;
      candidates.push(n);
      if (ends_ms < Infinity) isOver = false;
      earliest_ms = Math.min(earliest_ms, ends_ms);
    }
    if (isOver) return true;
    for (const n of candidates.toReversed()) {
      const next = apply(register, operations[n]!);
      if (next === undefined) continue;
      const after = new Set([...done].filter((each) => each >= first)).add(n);
      const name = `${first} ${[...after].toSorted((a, b) => a - b).join()} ${JSON.stringify(next)}`;
      if (seen.has(name)) continue;
      seen.add(name);
      open.push({ done: after, first, register: next });
    }
  }
  return false;
}

/** Keys whose operations could not have happened one at a time. */
export function notLinearizable(history: readonly Operation[]): readonly string[] {
  const byKey = Map.groupBy(history, ({ key }) => key);
  return [...byKey].filter(([, operations]) => !isLinearizable(operations)).map(([key]) => key);
}

/** `run`, recorded. What throws is "info" for a write, which may have been carried out, and "fail" for a read. */
async function recording<T>(
  history: Operation[],
  now: () => number,
  key: string,
  call: Call,
  run: () => Promise<T>,
): Promise<T> {
  const called_ms = now();
  const add = (end: Operation["end"], answer?: unknown): void =>
    void history.push({ key, call, called_ms, answered_ms: now(), end, answer });
  try {
    const answer = await run();
    add("ok", answer);
    return answer;
  } catch (problem) {
    add(call.kind === "get" ? "fail" : "info");
    throw problem;
  }
}

export interface RecordedDocuments {
  readonly documents: Pick<Documents, "get" | "put" | "remove">;
  /** In the order of the answers; what was not answered is missing. */
  readonly history: Operation[];
}

/** The documents of one collection, with what its clients asked and were answered. `now`: one clock for all of them. */
export function recorded(
  documents: RecordedDocuments["documents"],
  now: () => number,
  /** History of all connections to a store. Default: of this one. */
  history: Operation[] = [],
): RecordedDocuments {
  const record = <T>(key: string, call: Call, run: () => Promise<T>): Promise<T> =>
    recording(history, now, key, call, run);
  return {
    history,
    documents: {
      get: (collection, key) => record(key, { kind: "get" }, () => documents.get(collection, key)),
      put: (collection, key, value, version, ...rest) =>
        record(key, { kind: "put", version, value }, () =>
          documents.put(collection, key, value, version, ...rest),
        ),
      remove: (collection, key, version) =>
        record(key, { kind: "remove", version }, () => documents.remove(collection, key, version)),
    },
  };
}

/** A time in which a client believed that it held a lease. */
export interface Holding {
  readonly lease: string;
  readonly holder: string;
  readonly epoch: number;
  readonly from_ms: number;
  readonly until_ms: number;
}

/** Leases that two clients held at the same time, or whose epochs did not grow, as sentences. */
export function leaseProblems(holdings: readonly Holding[]): readonly string[] {
  return [...Map.groupBy(holdings, ({ lease }) => lease).values()].flatMap((held) => {
    const inOrder = held.toSorted((a, b) => a.from_ms - b.from_ms);
    return inOrder.slice(1).flatMap((next, n) => {
      const before = inOrder[n]!;
      const both = `${before.holder} (epoch ${before.epoch}) and ${next.holder} (epoch ${next.epoch})`;
      const overlap_ms = before.until_ms - next.from_ms;
      if (before.holder !== next.holder && overlap_ms > 0)
        return [`${next.lease} was held by ${both} for ${Math.round(overlap_ms)} ms`];
      return next.epoch > before.epoch ? [] : [`The epoch of ${next.lease} does not grow from ${both}`];
    });
  });
}
