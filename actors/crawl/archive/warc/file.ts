/**
 * A WARC file of archived fetches, written piece by piece in constant memory: whole, or one range of it by its layout.
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Blobs, ByteRange } from "../../../../cluster/ports/blobs.ts";
import type { PageRecord } from "../../../../schemas/fetch.ts";
import type { Group, IndexedCapture, Layout } from "../layout.ts";
import { memberOf } from "./members.ts";
import { type Originals, pageRecords } from "./page-records.ts";
import { common, recordId, warcFields, type WarcRecord, warcRecord } from "./record.ts";

export interface ArchivedPage {
  /** The item of the job. */
  readonly index: number;
  readonly record: PageRecord;
}

/** The fetches of one file, always in the same order. */
export interface ArchiveSource {
  /** `<id>.warc.gz` is the file's name. */
  readonly id: string;
  readonly title: string;
  readonly date_ms: number;
  readonly software: string;
  /** From this index on. Throws Fault. */
  readonly pages: (from: number) => AsyncIterable<ArchivedPage>;
}

type Store = Pick<Blobs, "get" | "head">;
/** Index of the group that describes the file. */
const NO_ITEM = -1;

/** The description of the file, then every fetch that has exchanges of its own: of one answered from the cache they stand there already. */
async function* groupsOf(
  blobs: Store,
  source: ArchiveSource,
  {
    from = NO_ITEM,
    seen = new Map(),
    has = null,
  }: {
    readonly from?: number;
    readonly seen?: Originals;
    /** Default: every fetch whose exchanges do not stand in an earlier group. */
    readonly has?: ReadonlySet<number> | null;
  } = {},
): AsyncGenerator<Pick<Group, "index" | "originals"> & { readonly records: readonly WarcRecord[] }> {
  if (from === NO_ITEM) yield { index: NO_ITEM, originals: [], records: [describe(source)] };
  const written = new Set<string>();
  for await (const { index, record } of source.pages(Math.max(0, from))) {
    const { archive } = record;
    if (!archive || (has ? !has.has(index) : written.has(archive.sha256))) continue;
    written.add(archive.sha256);
    yield { index, ...(await pageRecords(blobs, { ...record, archive }, seen)) };
  }
}

function describe({ id, date_ms, software }: ArchiveSource): WarcRecord {
  const name = `${id}.warc.gz`;
  return warcRecord(
    [
      ...common("warcinfo", recordId(name, "warcinfo"), new Date(date_ms).toISOString()),
      ["WARC-Filename", name],
      ["Content-Type", "application/warc-fields"],
    ],
    [
      warcFields([
        ["software", software],
        ["format", "WARC File Format 1.1"],
        ["conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"],
        ["robots", "obey"],
        ["isPartOf", id],
      ]),
    ],
  );
}

/** The whole file; `onWritten` is called with its layout behind the last piece. Throws Fault. */
export async function* writeFile(
  blobs: Store,
  source: ArchiveSource,
  onWritten: (layout: Layout) => Promise<void>,
): AsyncGenerator<Buffer> {
  const digest = createHash("sha256");
  const groups: Group[] = [];
  let sum = 0;
  let end = 0;
  for await (const { index, originals, records } of groupsOf(blobs, source)) {
    const captures: IndexedCapture[] = [];
    for (const record of records) {
      const offset = end;
      const member = record.capture ? createHash("sha256") : null;
      for await (const piece of memberOf(record, blobs)) {
        digest.update(piece);
        member?.update(piece);
        sum = crc32(piece, sum);
        end += piece.length;
        yield piece;
      }
      if (!record.capture || !member) continue;
      const record_digest = `sha256:${member.digest("hex")}`;
      captures.push({ ...record.capture, offset, length: end - offset, record_digest });
    }
    groups.push({ index, originals, captures, end });
  }
  await onWritten({ bytes: end, sha256: digest.digest("hex"), crc32: sum, groups });
}

/** These bytes of the file. Throws Fault. */
export async function* writeRange(
  blobs: Store,
  source: ArchiveSource,
  { groups }: Layout,
  { first, last }: ByteRange,
): AsyncGenerator<Buffer> {
  const begins = groups.findIndex(({ end }) => end > first);
  if (begins < 0) return;
  let at = groups[begins - 1]?.end ?? 0;
  const seen: Originals = new Map(groups.slice(0, begins).flatMap(({ originals }) => originals));
  const has = new Set(groups.map(({ index }) => index));
  for await (const { records } of groupsOf(blobs, source, { from: groups[begins]!.index, seen, has })) {
    for (const record of records)
      for await (const piece of memberOf(record, blobs)) {
        const [from, to] = [Math.max(0, first - at), Math.min(piece.length, last + 1 - at)];
        if (from < to) yield piece.subarray(from, to);
        at += piece.length;
        if (at > last) return;
      }
  }
}
