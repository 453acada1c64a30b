/**
 * Small bodies that share an object, `<prefix>/shared-<digits>`: their stored bytes one after another, behind them a table of what
 * they are as JSON, and its length in four bytes, little-endian. The places of the bodies are an index elsewhere
 * (cluster/ports/body-places.ts), which is written after the upload and before a body counts as stored.
 *
 * A body that is alone when it is sent is an object of its own, as large ones are, and has no place. So it takes one request, and no
 * time more than the upload. Where a body has a place and an object of its own, either is read, and the other one where that is wrong.
 *
 * An object is deleted with the last place in it. `sweep` looks after what that does not reach: it writes the places of an object
 * in which none is, because a process ended between the upload and the places or an older index was restored; and it
 * writes the bodies that are left of an object anew when they are less than half of it.
 */
import { randomBytes, randomInt } from "node:crypto";
import type { Readable } from "node:stream";
import { LRUCache } from "lru-cache";
import type { BodyPlace, BodyPlaces, KnownPlace } from "../../ports/body-places.ts";
import { type ByteRange, sha256Of, type SweptObjects, TOUCH_AFTER_MS } from "../../ports/blobs.ts";
import type { Clock } from "../../ports/clock.ts";
import { type Bucket, isOutOfRange, type ListedObject, readWithTimeout } from "./bucket.s3.ts";
import { decompressWhole, MAX_SYNC_BYTES, slices } from "./compression.ts";
import { type Gather, gathering } from "./gather.ts";
import { type Packed, upload, uploadOf, uploadOfBuffer } from "./uploads.s3.ts";
import { WrongContent } from "./verify.ts";

/** Before the digits of an object that bodies share. No digest begins like this. */
export const SHARED = "shared-";
/** Larger bodies have an object of their own. */
export const MAX_SHARED_BYTES = 128 * 1024;
/** Places that this process remembers. */
const MAX_PLACES = 5_000;
/** An object whose last place is removed earlier than this may still get places. The sweep finds it later. */
const PLACED_AFTER_MS = 60 * 60_000;
/** Limits of one sweep: objects that are looked at, and those that are written anew. */
const MAX_SWEPT = 500;
const MAX_REWRITTEN = 8;
/** At the end of an object: how long its table is. */
const LENGTH_BYTES = 4;
/** Used share from which on an object stays as it is. */
const MIN_USED = 1 / 2;

export interface Sharing {
  readonly places: BodyPlaces;
  /** False: bodies are stored as objects of their own, because a node runs that reads no other. */
  readonly isOn: () => boolean;
  readonly clock: Pick<Clock, "now" | "mono" | "at">;
}

export type UploadKind = "single" | "shared";

/** A body in the table of its object. */
type Member = Pick<BodyPlace, "offset" | "length" | "bytes" | "packed"> & { readonly sha256: string };

export interface SharedObjects {
  readonly put: (packed: Packed) => Promise<void>;
  /** Whether the body is likelier to have a place than an object of its own. */
  readonly isLikely: (sha256: string) => boolean;
  /** Null: the body has no place. */
  readonly head: (sha256: string) => Promise<{ readonly bytes: number } | null>;
  /** Null: the body has no place. Throws WrongContent, and what zstd throws, where the object is wrong. */
  readonly get: (sha256: string, range?: ByteRange) => Promise<AsyncGenerator<Buffer> | null>;
  /** `kept`: it was stored since, or another writer was first; `none`: the body has no place. */
  readonly remove: (sha256: string, stored_before_ms: number) => Promise<"removed" | "kept" | "none">;
  readonly list: (digits: string) => AsyncIterable<KnownPlace>;
  readonly sweep: (digits: string, stored_before_ms: number) => Promise<SweptObjects>;
}

export const isSharable = ({ body, stored }: Packed): boolean =>
  stored.length > 0 && stored.length <= MAX_SHARED_BYTES && body.bytes <= MAX_SYNC_BYTES;

interface SharedDeps extends Sharing {
  readonly bucket: Bucket;
  /** Whether what is stored of this body was found to be wrong. */
  readonly isDamaged: (sha256: string) => boolean;
  readonly onUpload: (kind: UploadKind) => void;
}

interface State extends SharedDeps {
  readonly recent: LRUCache<string, KnownPlace>;
}

export function sharedObjects(deps: SharedDeps): SharedObjects {
  const state: State = { ...deps, recent: new LRUCache({ maxSize: MAX_PLACES, sizeCalculation: () => 1 }) };
  const { places, recent } = state;
  const gather: Gather<Packed> = gathering((group) => putGroup(state, group), state.clock);

  return {
    put: (packed) => (state.isOn() ? gather(packed, packed.stored.length) : putAlone(state, packed)),
    isLikely: (sha256) => state.isOn() || recent.has(sha256),
    async head(sha256) {
      const known = await findPlace(state, sha256);
      return known && { bytes: known.place.bytes };
    },
    async get(sha256, range) {
      const content = await readBody(state, sha256, range === undefined);
      return content && slices(range ? content.subarray(range.first, range.last + 1) : content);
    },
    async remove(sha256, stored_before_ms) {
      recent.delete(sha256);
      const known = await places.find(sha256);
      if (known === null) return "none";
      if (known.place.stored_ms >= stored_before_ms || !(await places.remove(known))) return "kept";
      await deleteEmpty(state, known);
      return "removed";
    },
    list: (digits) => places.list(digits),
    sweep: (digits, stored_before_ms) => sweep(state, digits, stored_before_ms),
  };
}

async function findPlace(
  { places, recent }: State,
  sha256: string,
  isRead = false,
): Promise<KnownPlace | null> {
  const remembered = isRead ? undefined : recent.get(sha256);
  if (remembered) return remembered;
  const known = await places.find(sha256);
  if (known) recent.set(sha256, known);
  else recent.delete(sha256);
  return known;
}

/** A body that is gone or wrong at its remembered place may have been moved, or stored anew by another node. */
async function readBody(state: State, sha256: string, isWhole: boolean): Promise<Buffer | null> {
  const first = await findPlace(state, sha256);
  if (first === null) return null;
  const { content, problem } = await readPlace(state, first, isWhole).then(
    (read) => ({ content: read, problem: null }),
    (reason: unknown) => ({ content: null, problem: reason as Error }),
  );
  if (content !== null) return content;
  const second = await findPlace(state, sha256, true);
  if (second === null) return null;
  if (second.place.object !== first.place.object) return readPlace(state, second, isWhole);
  if (problem === null) return null;
  throw problem;
}

/** Null: its object is gone. */
async function readPlace({ bucket }: State, known: KnownPlace, isWhole: boolean): Promise<Buffer | null> {
  const { sha256, place } = known;
  const stored = await readRange(bucket, place);
  if (stored === null) return null;
  const content = place.packed ? await decompressWhole(stored, place.bytes) : stored;
  if (content.length !== place.bytes) throw new WrongContent(`The content has ${content.length} bytes`);
  if (isWhole && sha256Of(content) !== sha256) throw new WrongContent("The content has another digest");
  return content;
}

async function readRange(bucket: Bucket, { object, offset, length }: BodyPlace): Promise<Buffer | null> {
  try {
    const answer = await bucket.get(SHARED + object, `bytes=${offset}-${offset + length - 1}`);
    if (answer === null) return null;
    const stored = await readAll(bucket, object, answer.Body as Readable);
    if (stored.length !== length) throw new WrongContent(`The object ends after ${stored.length} bytes`);
    return stored;
  } catch (problem) {
    throw isOutOfRange(problem) ? new WrongContent("The object ends before the body") : problem;
  }
}

const readAll = (bucket: Bucket, object: string, body: Readable): Promise<Buffer> =>
  bucket.reach(`read object "${SHARED}${object}"`, async () =>
    Buffer.concat(await Array.fromAsync(readWithTimeout(body))),
  );

/**
 * An object of its own. A place that there is stays where it is not known: its bytes are the same, and where they are wrong the object is read. So a
 * body that is alone costs no look at the index.
 */
async function putAlone(state: State, packed: Packed, known: KnownPlace | null = null): Promise<void> {
  await upload(state.bucket, uploadOf(packed));
  state.onUpload("single");
  if (known === null) return;
  state.recent.delete(known.sha256);
  if (await state.places.remove(known)) await deleteReplaced(state, [known]);
}

/** The object of a place that was removed or replaced, if it was the last one. */
async function deleteEmpty({ places, bucket }: State, { place }: KnownPlace): Promise<void> {
  const isSettled = Date.now() - place.stored_ms > PLACED_AFTER_MS;
  if (isSettled && (await places.within(place.object)).length === 0)
    await bucket.remove(SHARED + place.object);
}

/** The bodies are stored: where this fails, the sweep finds the objects. */
async function deleteReplaced(state: State, replaced: readonly KnownPlace[]): Promise<void> {
  const one_each = new Map(replaced.map((known) => [known.place.object, known]));
  await Promise.allSettled([...one_each.values()].map((known) => deleteEmpty(state, known)));
}

async function putGroup(state: State, group: readonly Packed[]): Promise<void> {
  const bodies = [...new Map(group.map((packed) => [packed.body.sha256, packed])).values()];
  if (bodies.length === 1) return putAlone(state, bodies[0]!);
  const known = await Promise.all(bodies.map(({ body }) => state.places.find(body.sha256)));
  const sound = await soundObjects(state, known);
  const missing = [...bodies.keys()].filter((n) => {
    const there = known[n];
    return !there || !sound.has(there.place.object) || state.isDamaged(there.sha256);
  });
  if (missing.length === 0) return;
  if (missing.length === 1) return putAlone(state, bodies[missing[0]!]!, known[missing[0]!] ?? null);
  const placed = await putObject(
    state,
    missing.map((n) => bodies[n]!),
  );
  const stored_ms = Date.now();
  await Promise.all(
    missing.map((n, at) => {
      const { sha256 } = bodies[n]!.body;
      state.recent.delete(sha256);
      return state.places.put(sha256, { ...placed[at]!, stored_ms }, known[n]!);
    }),
  );
  await deleteReplaced(
    state,
    missing.flatMap((n) => known[n] ?? []),
  );
}

/** The objects of recent places that are as they were uploaded. Where the server keeps no checksum, none is. */
async function soundObjects(
  { bucket }: State,
  known: readonly (KnownPlace | null)[],
): Promise<ReadonlySet<string>> {
  const recent = known.flatMap((each) =>
    each && Date.now() - each.place.stored_ms < TOUCH_AFTER_MS ? [each.place.object] : [],
  );
  const sound = new Set<string>();
  await Promise.all(
    [...new Set(recent)].map(async (object) => {
      const head = await bucket.head(SHARED + object);
      const checksum = Buffer.from(head?.ChecksumSHA256 ?? "", "base64").toString("hex");
      if (checksum !== "" && object.endsWith(checksum)) sound.add(object);
    }),
  );
  return sound;
}

/** Uploads them as one object; the places are in the order of the contents. */
async function putObject(
  { bucket, onUpload }: State,
  contents: readonly Packed[],
): Promise<readonly Omit<BodyPlace, "stored_ms">[]> {
  let end = 0;
  const members = contents.map(({ body, stored, is_packed }): Member => {
    const offset = end;
    end += stored.length;
    return { sha256: body.sha256, offset, length: stored.length, bytes: body.bytes, packed: is_packed };
  });
  const table = Buffer.from(JSON.stringify(members));
  const table_bytes = Buffer.alloc(LENGTH_BYTES);
  table_bytes.writeUInt32LE(table.length);
  const content = Buffer.concat([...contents.map(({ stored }) => stored), table, table_bytes]);
  // These bodies may be uploaded again while their former object is being deleted.
  const object = `${randomBytes(8).toString("hex")}-${sha256Of(content)}`;
  await upload(bucket, uploadOfBuffer(SHARED + object, content, {}));
  onUpload("shared");
  return members.map(({ offset, length, bytes, packed }) => ({ object, offset, length, bytes, packed }));
}

async function sweep(state: State, digits: string, stored_before_ms: number): Promise<SweptObjects> {
  const listed = await Array.fromAsync(state.bucket.list(SHARED, digits));
  const old = listed.filter(({ stored_ms }) => stored_ms < stored_before_ms);
  const from = old.length > MAX_SWEPT ? randomInt(old.length) : 0;
  const swept = { indexed: 0, rewritten: 0, removed: 0 };
  for (const object of [...old.slice(from), ...old.slice(0, from)].slice(0, MAX_SWEPT)) {
    const used = await state.places.within(object.name);
    if (used.length === 0) {
      const outcome = await indexAgain(state, object);
      if (outcome) swept[outcome]++;
    } else if (swept.rewritten < MAX_REWRITTEN && usedShare(used, object) < MIN_USED) {
      if (!(await rewrite(state, object, used))) continue;
      swept.rewritten++;
      swept.removed++;
    }
  }
  return swept;
}

const usedShare = (used: readonly KnownPlace[], { bytes }: ListedObject): number =>
  used.reduce((sum, { place }) => sum + place.length, 0) / bytes;

/** Null: it is gone. */
async function readObject({ bucket }: Pick<State, "bucket">, name: string): Promise<Buffer | null> {
  const answer = await bucket.get(SHARED + name);
  return answer && readAll(bucket, name, answer.Body as Readable);
}

/**
 * Gives bodies of the object their places again: those that have none, or one in an object that is gone. A body that nothing
 * refers to is removed with its place afterwards. Where all bodies of the object are elsewhere, it is deleted. Null: it
 * has no table, and nothing is done.
 */
async function indexAgain(
  { places, bucket }: State,
  { name, stored_ms }: ListedObject,
): Promise<"indexed" | "removed" | null> {
  const content = await readObject({ bucket }, name);
  const members = content && membersOf(content);
  if (members === null) return null;
  const gone = new Map<string, boolean>();
  const isGone = async (object: string): Promise<boolean> => {
    const isMissing = gone.get(object) ?? (await bucket.head(SHARED + object)) === null;
    gone.set(object, isMissing);
    return isMissing;
  };
  let isIndexed = false;
  for (const { sha256, ...member } of members) {
    const known = await places.find(sha256);
    if (known && !(await isGone(known.place.object))) continue;
    const place = { ...member, object: name, stored_ms };
    if (known) await places.replace(known, place);
    else await places.put(sha256, place, null);
    isIndexed = true;
  }
  if (!isIndexed) await bucket.remove(SHARED + name);
  return isIndexed ? "indexed" : "removed";
}

function membersOf(object: Buffer): readonly Member[] | null {
  const end = object.length - LENGTH_BYTES;
  try {
    const table = object.subarray(end - object.readUInt32LE(end), end);
    return JSON.parse(table.toString()) as readonly Member[];
  } catch {
    // Another program's object, or a torn one.
    return null;
  }
}

/** Whether the object was deleted: its bodies are in another one, unless they were stored anew or removed meanwhile. */
async function rewrite(state: State, { name }: ListedObject, used: readonly KnownPlace[]): Promise<boolean> {
  const { places, bucket, recent } = state;
  const content = await readObject(state, name);
  if (content === null) return false;
  const placed = await putObject(
    state,
    used.map(({ sha256, place: { bytes, offset, length, packed } }) => ({
      body: { sha256, bytes },
      stored: content.subarray(offset, offset + length),
      is_packed: packed,
    })),
  );
  await Promise.all(
    used.map((known, n) => {
      recent.delete(known.sha256);
      return places.replace(known, { ...placed[n]!, stored_ms: known.place.stored_ms });
    }),
  );
  if ((await places.within(name)).length > 0) return false;
  await bucket.remove(SHARED + name);
  return true;
}
