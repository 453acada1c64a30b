/**
 * Documents, bodies, indexes and bus carry the same id, so that a store which does not belong to the others is noticed: bodies
 * are removed because no document names them, and another installation's documents name none of them.
 *
 * The id is drawn at the first start and stands in the document `stores/identity` and in the mark of the bodies. Both also
 * have a turn, which changes every hour that a node runs. Documents whose turn is not that of the bodies are older than the bodies
 * or a copy: restored from a backup, or used elsewhere with the same bodies. Then neither service removes bodies until an
 * operator has said which documents are the right ones (`trawl stores adopt`).
 */
import { BODY_REF_COLLECTIONS, BODY_TAG_COLLECTIONS } from "../cluster/body-refs.ts";
import type { Blobs, StoreMark } from "../cluster/ports/blobs.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Random } from "../cluster/ports/random.ts";
import { settingsId } from "./agreed-settings.ts";
import { STORES } from "./store-documents.ts";

export interface IdentityRecord extends StoreMark {
  /** The turn that is being written to the mark, which may have it already. */
  readonly next_turn?: string;
  readonly turned_ms: number;
  /** Why the bodies are not those of the documents until an operator says so. */
  readonly apart?: "new" | "older";
}

const RECORDS = STORES.of<IdentityRecord>();
const KEY = "identity";
export const IDENTITY = { collection: STORES.name, key: KEY } as const;
/** The least time between two turns: longer than a write of the mark may be on its way. */
const TURN_MS = 60 * 60_000;
/** Nodes that start together write one after the other. */
const MAX_ATTEMPTS = 20;

/** How the bodies belong to the documents. */
export type Belonging =
  | { readonly kind: "one" }
  /** Nothing may be removed. `problem`: a sentence for the operator, with what to do. */
  | { readonly kind: "apart"; readonly problem: string }
  /** No node may start. */
  | { readonly kind: "foreign"; readonly problem: string };

export interface IdentifiedStores {
  readonly documents: Pick<Documents, "get" | "put" | "list" | "remove">;
  readonly blobs: Pick<Blobs, "readMark" | "writeMark" | "isEmpty">;
  /** Names that the operator has for them. */
  readonly places: StorePlaces;
  readonly now_ms: () => number;
  readonly random: Random;
}

export interface StorePlaces {
  readonly documents: string;
  readonly bodies: string;
}

export interface StoreIdentity {
  readonly id: string;
  /** As of the last look. */
  readonly belonging: () => Belonging;
  /** Looks again, and begins another turn where the stores are one and an hour has passed. Throws Fault. */
  readonly look: () => Promise<Belonging>;
}

/** For a node that starts. Throws an Error with a sentence when the stores carry different ids, and Fault. */
export async function openStoreIdentity(stores: IdentifiedStores): Promise<StoreIdentity> {
  const { id } = await identify(stores);
  let last = await judge(stores);
  if (last.kind === "foreign") throw new Error(`Cannot start: ${last.problem}`);
  return { id, belonging: () => last, look: async () => (last = await takeTurn(stores)) };
}

/** How they belong together, without writing anything; null: they carry no id yet, the next start writes one. Throws Fault. */
export async function inspectStores(
  stores: Pick<IdentifiedStores, "documents" | "blobs" | "places">,
): Promise<Belonging | null> {
  const { record, mark } = await readBoth(stores);
  return record === null && mark === null ? null : compare(record, mark, stores.places);
}

/** Marks that the two stores carry, for an operator; null: there is none. Throws Fault. */
export async function readIdentity({
  documents,
  blobs,
}: Pick<IdentifiedStores, "documents" | "blobs">): Promise<{
  readonly documents: IdentityRecord | null;
  readonly bodies: StoreMark | null;
}> {
  return { documents: (await read(documents)).record, bodies: await blobs.readMark() };
}

/**
 * Makes the bodies those of these documents, whatever they carry; answers the id, and the one that the bodies carried. Throws
 * Fault, and an Error when a node writes the record at the same moment.
 */
export async function adoptBodies(
  stores: IdentifiedStores,
): Promise<{ readonly id: string; readonly former_id: string | null }> {
  const { documents, blobs, now_ms, random } = stores;
  await identify(stores);
  const former = await blobs.readMark();
  const { record, version } = await read(documents);
  const { id } = record!;
  const turn = newId(random);
  const adopted: IdentityRecord = { id, turn, next_turn: turn, turned_ms: now_ms() };
  if (!(await RECORDS.put(documents, KEY, adopted, version)))
    throw new Error("Cannot adopt the bodies: a node wrote the identity at the same moment. Run it again");
  await blobs.writeMark({ id, turn });
  return { id, former_id: former?.id ?? null };
}

/** 128 bits. */
const newId = (random: Random): string =>
  Array.from({ length: 4 }, () =>
    Math.floor(random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, "0"),
  ).join("");

interface StoredRecord {
  readonly record: IdentityRecord | null;
  readonly version: number;
}

async function read(documents: IdentifiedStores["documents"]): Promise<StoredRecord> {
  const stored = await RECORDS.read(documents, KEY);
  return { record: stored?.value ?? null, version: stored?.version ?? 0 };
}

/** The record, written first where there is none. */
async function identify({ documents, blobs, now_ms, random }: IdentifiedStores): Promise<IdentityRecord> {
  const stored = await RECORDS.update(documents, KEY, async (record) => {
    if (record !== null) return null;
    const isBeside =
      (await blobs.readMark()) !== null || (!(await nameBodies(documents)) && !(await blobs.isEmpty()));
    const turn = newId(random);
    return {
      value: {
        // The nodes of a cluster agreed on an id of their documents before there was this one.
        id: (await settingsId(documents)) ?? newId(random),
        turn,
        turned_ms: now_ms(),
        ...(isBeside ? { apart: "new" as const } : { next_turn: turn }),
      },
    };
  });
  return stored!.value;
}

/** Whether documents name bodies, as those of a version without ids do that has stored any. */
async function nameBodies(documents: IdentifiedStores["documents"]): Promise<boolean> {
  for (const collection of [...BODY_REF_COLLECTIONS, ...BODY_TAG_COLLECTIONS])
    if ((await documents.list(collection, { limit: 1 })).length > 0) return true;
  return false;
}

/** The record and the mark of one moment: the record was the same before and after the mark was read. */
async function readBoth({
  documents,
  blobs,
}: Pick<IdentifiedStores, "documents" | "blobs">): Promise<
  StoredRecord & { readonly mark: StoreMark | null }
> {
  let before = await read(documents);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const mark = await blobs.readMark();
    const after = await read(documents);
    if (after.version === before.version) return { ...after, mark };
    before = after;
  }
  throw new Error("Cannot read the identity of the stores: other nodes write it all the time");
}

/** Compares the two, and completes a turn that a node has begun. */
async function judge(stores: IdentifiedStores): Promise<Belonging> {
  const { documents, blobs } = stores;
  const { record, version, mark } = await readBoth(stores);
  const belonging = compare(record, mark, stores.places);
  if (record === null || record.apart !== undefined || belonging.kind === "foreign") return belonging;
  if (belonging.kind === "one") {
    if (record.next_turn !== undefined) await completeTurn(stores, record, version);
  } else if (mark !== null && (await RECORDS.put(documents, KEY, { ...record, apart: "older" }, version))) {
    // The other documents may be the wrong ones as well, and have the turn.
    if (mark.disputed !== true) await blobs.writeMark({ ...mark, disputed: true });
  }
  return belonging;
}

function compare(record: IdentityRecord | null, mark: StoreMark | null, places: StorePlaces): Belonging {
  const apart = (reason: string): Belonging => ({
    kind: "apart",
    problem: `Bodies are not removed: ${reason}. trawl stores adopt makes the bodies those of these documents`,
  });
  const [documents, bodies] = [`the documents in ${places.documents}`, `the bodies in ${places.bodies}`];
  if (record === null) return apart(`${bodies} carry the id "${mark?.id}", and ${documents} none`);
  if (record.apart === "new")
    return apart(
      `${documents} are new, and ${places.bodies} has bodies already. Is the document store lost, or another one than ` +
        "before? Then stop the service and bring the right one back",
    );
  const { id, turn, next_turn } = record;
  if (mark === null)
    // The first turn may not be written yet.
    return turn === next_turn
      ? { kind: "one" }
      : apart(`${bodies} carry no id, and ${documents} do. Is it the place that they were in before?`);
  if (mark.id !== id)
    return {
      kind: "foreign",
      problem:
        `${documents} and ${bodies} do not belong together: the documents carry the id "${id}", the bodies "${mark.id}". ` +
        "Check TRAWL_DATA_DIR, TRAWL_DOCUMENTS and TRAWL_BLOBS: each installation has bodies of its own. After a restore, " +
        "trawl stores adopt makes the bodies those of these documents",
    };
  if (record.apart === "older" || mark.disputed === true || (mark.turn !== turn && mark.turn !== next_turn))
    return apart(
      `${documents} are older than ${bodies}, or a copy of documents that another service uses with the same bodies. ` +
        "Stop the other service or give it bodies of its own",
    );
  return { kind: "one" };
}

/** Another node that completes the same turn writes the same. */
async function completeTurn(
  { documents, blobs }: IdentifiedStores,
  { id, next_turn, turned_ms }: IdentityRecord,
  version: number,
): Promise<void> {
  const turn = next_turn!;
  await blobs.writeMark({ id, turn });
  await RECORDS.put(documents, KEY, { id, turn, turned_ms } satisfies IdentityRecord, version);
}

async function takeTurn(stores: IdentifiedStores): Promise<Belonging> {
  const { documents, now_ms, random } = stores;
  const belonging = await judge(stores);
  const { record, version } = await read(documents);
  const isDue = record !== null && Math.abs(now_ms() - record.turned_ms) >= TURN_MS;
  if (belonging.kind !== "one" || !isDue) return belonging;
  const next: IdentityRecord = { ...record, next_turn: newId(random), turned_ms: now_ms() };
  // Where another node was first, its turn is as good.
  if (await RECORDS.put(documents, KEY, next, version)) await completeTurn(stores, next, version + 1);
  return belonging;
}
