/**
 * Garbage collection of bodies: removes those without references (cluster/body-refs.ts). Each minute it looks at one
 * 256th of the digests, in turn from a random one on. All nodes may run it at the same time.
 *
 * A body that was stored less than two days ago stays, because the record that will name it may not be stored yet.
 * Storing the same bytes again updates the body's time, and removing checks the time once more.
 *
 * Objects of the store in which several bodies are (`Blobs.sweep`) are looked after beside it: of those whose names begin like the digests a
 * sixteenth each time, because each is asked for in the documents. A node alone has looked at all of them after three days.
 *
 * A removed body is lost for good, so the collection trusts neither the documents nor itself: it removes nothing while the documents
 * and the bodies do not belong together (store-identity.ts), nothing while more than a fifth of what it looks at would go, at most
 * a fifth of a part at once and a thousandth of all bodies an hour. `trawl bodies collect --force` lifts these limits for three days
 * (ops/decisions/0144-identity-of-stores.md).
 */
import type { Blobs, ListedBlob } from "../cluster/ports/blobs.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Random } from "../cluster/ports/random.ts";
import {
  BODY_REF_COLLECTIONS,
  BODY_TAG_COLLECTIONS,
  isTagged,
  referencedBetween,
} from "../cluster/body-refs.ts";
import { everyMinute } from "./every-minute.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Belonging, StoreIdentity } from "./store-identity.ts";
import { STORES } from "./store-documents.ts";

interface CollectBodiesDeps {
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly identity: Pick<StoreIdentity, "belonging" | "look">;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly random: Random;
}

export interface BodyCollection extends Disposable {
  /** Why nothing is removed; null: it goes on. */
  readonly stopped: () => string | null;
}

const PARTS = 256;
const DIGITS = 16;
const HOUR_MS = 60 * 60_000;
const MIN_AGE_MS = 48 * HOUR_MS;
/** Share of the bodies that are looked at. */
const MAX_SHARE = 1 / 5;
/** The share of fewer bodies says nothing: they are judged with those of the parts before. */
const MIN_SAMPLE = 100;
/** So few are removed whatever share they are. */
const FEW = 16;
/** Share of all bodies. */
const MAX_SHARE_AN_HOUR = 1 / 1_000;
/** In an hour, however few bodies there are. */
const MIN_AN_HOUR = 4;
/** How long the operator's word holds: S3 removes in two steps two days apart. */
const FORCED_MS = 72 * HOUR_MS;

const KEY = "collection";

/** State that all nodes share. */
interface CollectionRecord {
  readonly hour_began_ms: number;
  /** Bodies whose removal began within this hour. */
  readonly removed: number;
  readonly forced_until_ms?: number;
  /** By part: how many of its bodies were to be removed, and wait for a later hour. */
  readonly waiting: Readonly<Record<string, number>>;
}

const RECORDS = STORES.of<CollectionRecord>();
const NEW: CollectionRecord = { hour_began_ms: 0, removed: 0, waiting: {} };

const prefixOf = (part: number): string => part.toString(16).padStart(2, "0");

const STOP_REASONS = ["apart", "too_many"] as const;

interface Stop {
  readonly reason: (typeof STOP_REASONS)[number];
  /** A sentence for the operator. */
  readonly why: string;
}

/** Bodies of one part. */
interface Looked {
  readonly bodies: number;
  /** Bodies that are to be removed and were not when the part was looked at before. */
  readonly new_unreferenced: number;
}

interface Judgement {
  readonly isTooMuch: boolean;
  /** About how many bodies there are. */
  readonly all_bodies: number;
}

const FORCED: Judgement = { isTooMuch: false, all_bodies: Infinity };

export function collectBodies(deps: CollectBodiesDeps): BodyCollection {
  const { documents, blobs, identity, clock, metrics, log, random } = deps;
  let part = Math.floor(random.next() * PARTS);
  /** Digit of the names of shared objects, behind the digits of the part: the next one in each round. */
  let digit = Math.floor(random.next() * DIGITS);
  /** The parts looked at last, as many as make a sample. */
  let sample: Looked[] = [];
  let stop: Stop | null = null;

  function setStop(next: Stop | null): void {
    for (const reason of STOP_REASONS)
      metrics.gauge("trawl_bodies_collection_stopped", { reason }, reason === next?.reason ? 1 : 0);
    if (next && next.reason !== stop?.reason) log.error("Bodies are not removed", { ...next });
    if (!next && stop) log.info("Bodies are removed again");
    stop = next;
  }

  /** Null: there are too few bodies for a judgement so far. */
  function judge(looked: Looked): Judgement | null {
    sample = [...sample, looked].slice(-PARTS);
    while (sample.length > 1 && sum(sample.slice(1)).bodies >= MIN_SAMPLE) sample = sample.slice(1);
    const { bodies, new_unreferenced } = sum(sample);
    if (bodies < MIN_SAMPLE && sample.length < PARTS) return null;
    return {
      isTooMuch: new_unreferenced > FEW && new_unreferenced > bodies * MAX_SHARE,
      all_bodies: (bodies / sample.length) * PARTS,
    };
  }

  const apart = (belonging: Belonging): Stop | null =>
    belonging.kind === "one" ? null : { reason: "apart", why: belonging.problem };

  setStop(apart(identity.belonging()));
  const work = everyMinute(
    { clock, log, what: "Cannot remove unreferenced bodies" },
    async (isStopped): Promise<void> => {
      const isApart = apart(await identity.look());
      if (isApart) {
        sample = [];
        return setStop(isApart);
      }
      if (stop?.reason === "apart") setStop(null);
      const prefix = prefixOf(part);
      part = (part + 1) % PARTS;
      if (part === 0) digit = (digit + 1) % DIGITS;
      const objects = `${prefix}${digit.toString(16)}`;
      const stored_before_ms = clock.now() - MIN_AGE_MS;
      const listed = await Array.fromAsync(blobs.list(prefix));
      const unreferenced = await unreferencedOf(
        documents,
        prefix,
        listed.filter(({ stored_ms }) => stored_ms < stored_before_ms),
      );
      const shared = await readRecord(documents);
      const isForced = (shared.forced_until_ms ?? 0) > clock.now();
      const begun = unreferenced.filter(({ is_set_aside }) => is_set_aside !== true);
      const new_unreferenced = Math.max(0, begun.length - (shared.waiting[prefix] ?? 0));
      const judgement = isForced ? FORCED : judge({ bodies: listed.length, new_unreferenced });
      if (isForced) sample = [];
      if (judgement === null || isStopped()) return;
      if (judgement.isTooMuch) {
        const { bodies, new_unreferenced: share } = sum(sample);
        return setStop({
          reason: "too_many",
          why:
            `Bodies are not removed: no document names ${share} of the ${bodies} bodies looked at last, more than a fifth. ` +
            "Are these the documents of these bodies, and none was lost? Then trawl bodies collect --force removes them",
        });
      }
      setStop(null);
      const allowed = isForced
        ? begun.length
        : await reserve(
            deps,
            Math.min(begun.length, Math.ceil(listed.length * MAX_SHARE)),
            judgement.all_bodies * MAX_SHARE_AN_HOUR,
          );
      const chosen = new Set(begun.slice(0, allowed));
      for (const body of unreferenced) {
        if (isStopped()) return;
        if (body.is_set_aside !== true && !chosen.has(body)) continue;
        if (await blobs.remove(body.sha256, stored_before_ms))
          metrics.count("trawl_bodies_removed_total", {});
      }
      await noteWaiting(documents, prefix, begun.length - chosen.size);
      await sweepObjects(deps, objects, stored_before_ms);
    },
  );
  return { stopped: () => stop?.why ?? null, [Symbol.dispose]: () => work[Symbol.dispose]() };
}

async function sweepObjects(
  { blobs, metrics }: Pick<CollectBodiesDeps, "blobs" | "metrics">,
  digits: string,
  stored_before_ms: number,
): Promise<void> {
  const swept = await blobs.sweep?.(digits, stored_before_ms);
  for (const [outcome, count] of Object.entries(swept ?? {}))
    if (count > 0) metrics.count("trawl_shared_objects_swept_total", { outcome }, count);
}

/** The operator's word: until the answered time bodies are removed however many they are. Throws Fault. */
export async function forceCollection(documents: Documents, now_ms: number): Promise<number> {
  const forced_until_ms = now_ms + FORCED_MS;
  await update(documents, (record) => ({ ...record, forced_until_ms }));
  return forced_until_ms;
}

const sum = (parts: readonly Looked[]): Looked => ({
  bodies: parts.reduce((all, { bodies }) => all + bodies, 0),
  new_unreferenced: parts.reduce((all, each) => all + each.new_unreferenced, 0),
});

async function unreferencedOf(
  documents: Documents,
  prefix: string,
  candidates: readonly ListedBlob[],
): Promise<readonly ListedBlob[]> {
  if (candidates.length === 0) return [];
  const to = prefix === "ff" ? "g" : prefixOf(Number.parseInt(prefix, 16) + 1);
  const referenced = await referencedBetween(documents, BODY_REF_COLLECTIONS, { from: prefix, to });
  const unreferenced: ListedBlob[] = [];
  for (const body of candidates)
    if (!referenced.has(body.sha256) && !(await isTagged(documents, BODY_TAG_COLLECTIONS, body.sha256)))
      unreferenced.push(body);
  return unreferenced;
}

/** How many of so many bodies may be removed within this hour, which are then counted. */
async function reserve(
  { documents, clock }: Pick<CollectBodiesDeps, "documents" | "clock">,
  wanted: number,
  share_of_hour: number,
): Promise<number> {
  if (wanted === 0) return 0;
  const now_ms = clock.now();
  const most = Math.max(MIN_AN_HOUR, Math.floor(share_of_hour));
  let allowed = 0;
  await update(documents, (record) => {
    const isNewHour = Math.abs(now_ms - record.hour_began_ms) >= HOUR_MS;
    const hour = isNewHour ? { ...record, hour_began_ms: now_ms, removed: 0 } : record;
    allowed = Math.min(wanted, Math.max(0, most - hour.removed));
    return allowed === 0 ? null : { ...hour, removed: hour.removed + allowed };
  });
  return allowed;
}

/** Bodies that wait for a later hour are not judged anew when the part is looked at again. */
async function noteWaiting(documents: Documents, prefix: string, count: number): Promise<void> {
  await update(documents, (record) => {
    if ((record.waiting[prefix] ?? 0) === count) return null;
    const { [prefix]: _, ...others } = record.waiting;
    return { ...record, waiting: count === 0 ? others : { ...others, [prefix]: count } };
  });
}

const readRecord = async (documents: Documents): Promise<CollectionRecord> =>
  (await RECORDS.get(documents, KEY)) ?? NEW;

/** `change` answers null where nothing is to be stored. */
async function update(
  documents: Documents,
  change: (record: CollectionRecord) => CollectionRecord | null,
): Promise<void> {
  await RECORDS.update(documents, KEY, (stored) => {
    const value = change(stored ?? NEW);
    return value && { value };
  });
}
