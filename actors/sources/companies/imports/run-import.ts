/**
 * A run of an import: the rows of a file are compared with those that are stored, and written with a checkpoint, a batch at a time. It goes on
 * behind the checkpoint after its process died. A file that is older than what was imported since takes nothing back.
 */
import { createHash } from "node:crypto";
import { type Clock, yieldToEventLoop } from "../../../../cluster/ports/clock.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { ImportKind, ReadRecord, Tuple } from "./import-kind.ts";
import { type FileRecord, type ImportFiles, UnreadableFile } from "./file-record.ts";
import { readCsv } from "./read-csv.ts";
import { readJson } from "./read-json.ts";
import { readXml } from "./read-xml.ts";
import {
  type BadRow,
  type ImportedRow,
  type ImportRun,
  type ImportStore,
  MAX_BAD_TEXT,
  type RowWrite,
  type RunCounts,
} from "./store.ts";

export interface RunDeps {
  readonly store: ImportStore;
  readonly files: ImportFiles;
  readonly clock: Pick<Clock, "now" | "at">;
  /** The references by which a row is found, with the company's id. */
  readonly referencesOf: (kind: ImportKind, key: string, tuple: Tuple) => readonly string[];
  /** Hands the companies of these rows to the search index, and answers how many claims they state. Throws Fault. */
  readonly onRows: (kind: ImportKind, rows: readonly ImportedRow[]) => Promise<number>;
  readonly onProgress: (run: ImportRun) => void;
}

export interface RunContext {
  readonly signal: AbortSignal;
  readonly ownsKey: () => boolean;
  readonly epoch: number;
}

/** A transaction of this many rows takes about 20 ms. */
export const ROWS_A_BATCH = 1_000;
/** Above this share of bad rows the operator is warned. */
const SUSPICIOUS_SHARE = 0.05;

export const NO_COUNTS: RunCounts = {
  records: 0,
  created: 0,
  changed: 0,
  unchanged: 0,
  renewed: 0,
  older: 0,
  closed: 0,
  skipped: 0,
  bad: 0,
};

/** Throws Fault, and UnreadableFile for a file that cannot be read. */
export async function runImport(
  deps: RunDeps,
  kind: ImportKind,
  begun: ImportRun,
  context: RunContext,
): Promise<ImportRun> {
  const { counts, bytes_read } = begun;
  const resumed = { at_ms: deps.clock.now(), records: counts.records, bytes: bytes_read };
  let run: ImportRun = { ...begun, epoch: context.epoch, resumed };
  if (run.phase === "rows") run = await importRows(deps, kind, run, context);
  if (run.phase === "absent") run = await closeAbsent(deps, kind, run, context);
  if (run.phase === "index") run = await indexRows(deps, kind, run, context);
  const done: ImportRun = { ...run, state: "done", ended_ms: deps.clock.now() };
  await deps.store.commit({ run: done, rows: [], bad: [] });
  return done;
}

/** Throws Fault "lease_lost" when another node may have the run. */
function assertOwner({ ownsKey, signal }: RunContext, { run }: ImportRun): void {
  if (signal.aborted || !ownsKey()) throw new Fault("lease_lost", `Cannot go on with import ${run}`);
}

async function importRows(
  deps: RunDeps,
  kind: ImportKind,
  begun: ImportRun,
  context: RunContext,
): Promise<ImportRun> {
  const { store, files } = deps;
  const { sha256 } = await files.digestOf(begun.path, context.signal);
  if (sha256 !== begun.sha256)
    throw new UnreadableFile(`Cannot go on with "${begun.path}": it is not the file that was begun`);
  const file = await files.unpackFile(begun.path);
  const { rowOf, records, expected } = await readRecords(kind, file.bytes, begun);
  const publishTimes = await publishTimesOf(store, begun);
  let run = begun;
  const writeBatch = async (batch: readonly FileRecord<unknown>[]): Promise<void> => {
    assertOwner(context, run);
    const records_expected = expected();
    const reached: ImportRun = {
      ...run,
      bytes_read: file.read(),
      ...(records_expected !== undefined && { records_expected }),
    };
    const written = await batchOf(deps, kind, reached, batch, rowOf, publishTimes);
    await store.commit(written);
    run = written.run;
    deps.onProgress(run);
    // Requests are answered between two batches.
    await yieldToEventLoop(deps.clock);
  };
  let waiting: FileRecord<unknown>[] = [];
  for await (const read of records)
    for (const record of read) {
      waiting.push(record);
      if (waiting.length < ROWS_A_BATCH) continue;
      await writeBatch(waiting);
      waiting = [];
    }
  if (waiting.length > 0) await writeBatch(waiting);
  const { bad, records: total } = run.counts;
  const warnings = bad > SUSPICIOUS_SHARE * total ? [...run.warnings, "many_bad_rows"] : run.warnings;
  const phase = kind.absence !== "never" && run.is_full ? "absent" : "index";
  const next: ImportRun = { ...run, phase, bytes_read: run.bytes, warnings };
  assertOwner(context, run);
  await store.commit({ run: next, rows: [], bad: [] });
  return next;
}

interface ReadRecords {
  readonly rowOf: (record: unknown) => ReadRecord;
  readonly records: AsyncIterable<readonly FileRecord<unknown>[]>;
  /** How many records the file's beginning says it has; undefined: it does not say, or was not read yet. */
  readonly expected: () => number | undefined;
}

const notSaid = (): undefined => undefined;

/** Behind the checkpoint of the run. Throws UnreadableFile: it is a file of another kind. */
async function readRecords(
  kind: ImportKind,
  packed: AsyncIterable<Buffer>,
  { counts, place }: ImportRun,
): Promise<ReadRecords> {
  const after = { line: counts.records, offset: place };
  if (kind.format === "json")
    return { rowOf: kind.read as ReadRecords["rowOf"], records: readJson(packed, after), expected: notSaid };
  const { isXml, bytes } = await beginningOf(packed);
  if (isXml) {
    if (kind.xml === undefined) throw new UnreadableFile(`Files of "${kind.name}" are not read as XML`);
    const { element, read } = kind.xml;
    return { rowOf: read as ReadRecords["rowOf"], ...readXml(bytes, after, element) };
  }
  const { columns, records } = await readCsv(bytes, after);
  const missing = kind.required.filter((column) => !columns.includes(column));
  if (missing.length > 0)
    throw new UnreadableFile(
      `The file has no column "${missing.join('", "')}": it is no file of "${kind.name}"`,
    );
  return { rowOf: kind.read(columns) as ReadRecords["rowOf"], records, expected: notSaid };
}

/** Whether the file is XML, with all of its bytes. */
async function beginningOf(
  bytes: AsyncIterable<Buffer>,
): Promise<{ readonly isXml: boolean; readonly bytes: AsyncIterable<Buffer> }> {
  const chunks = bytes[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < MIN_BEGINNING) {
    const { value, done } = await chunks.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  async function* all(): AsyncIterable<Buffer> {
    yield head;
    yield* { [Symbol.asyncIterator]: () => chunks };
  }
  return { isXml: /^\uFEFF?\s*</.test(head.subarray(0, MIN_BEGINNING).toString()), bytes: all() };
}

const MIN_BEGINNING = 64;

type PublishTimes = (stored: Iterable<ImportedRow>) => Promise<(row: ImportedRow) => number>;

/** When what is stored of a row was published: with its own file, or with a later whole one that had the same. */
async function publishTimesOf(store: ImportStore, { run: own, kind }: ImportRun): Promise<PublishTimes> {
  const runs = await runsOf(store, kind);
  const times = new Map(runs.map(({ run, publish_ms }) => [run, publish_ms]));
  const full_ms = lastWholeMs(runs.filter(({ run }) => run !== own));
  return async (stored) => {
    for (const { run } of stored)
      if (!times.has(run)) times.set(run, (await store.run(run))?.publish_ms ?? 0);
    return (row) => Math.max(full_ms, times.get(row.run)!);
  };
}

/** The newest runs of the kind, as many as reach back to one of a whole file: between two of them there may be thousands of deltas. */
export async function runsOf(store: Pick<ImportStore, "runs">, kind: string): Promise<readonly ImportRun[]> {
  const found: ImportRun[] = [];
  let before: number | undefined;
  for (;;) {
    const page = await store.runs(MAX_RUNS, before);
    found.push(...page.filter((each) => each.kind === kind));
    if (page.length < MAX_RUNS || found.some(isWhole)) return found;
    before = page.at(-1)!.run;
  }
}

/** When the newest whole file was published; 0: there was none. */
export const lastWholeMs = (runs: readonly ImportRun[]): number =>
  Math.max(0, ...runs.filter(isWhole).map(({ publish_ms }) => publish_ms));

/** Every row that stands was in its file. */
const isWhole = ({ state, is_full }: ImportRun): boolean => state === "done" && is_full;
/** Runs that are read at once. */
export const MAX_RUNS = 1_000;

const tupleDigest = (tuple: string): string =>
  createHash("sha256").update(tuple).digest("hex").slice(0, DIGEST_CHARS);
const DIGEST_CHARS = 24;

/** Rows to write and bad rows of a batch of records, and the run with its new counts. */
async function batchOf(
  { store, referencesOf }: RunDeps,
  kind: ImportKind,
  run: ImportRun,
  records: readonly FileRecord<unknown>[],
  rowOf: ReadRecords["rowOf"],
  publishTimes: PublishTimes,
): Promise<{ readonly run: ImportRun; readonly rows: readonly RowWrite[]; readonly bad: readonly BadRow[] }> {
  const counts = { ...run.counts };
  const bad_reasons: Record<string, number> = { ...run.bad_reasons };
  const bad: BadRow[] = [];
  let { records_expected } = run;
  /** The last row of each key: it counts where the file has a key twice. */
  const last = new Map<string, { read: RowOrClosed; record: FileRecord<unknown> }>();
  const isBad = ({ line, offset }: FileRecord<unknown>, reason: string, text: string): void => {
    counts.bad++;
    bad_reasons[reason] = (bad_reasons[reason] ?? 0) + 1;
    bad.push({ line, offset, reason, text: text.slice(0, MAX_BAD_TEXT) });
  };
  for (const record of records) {
    counts.records++;
    if (record.record === null) {
      isBad(record, record.reason!, record.text);
      continue;
    }
    const read = rowOf(record.record);
    if (read.kind === "row" || read.kind === "closed") last.set(read.key, { read, record });
    else if (read.kind === "bad") isBad(record, read.reason, textOf(record.record));
    else {
      counts.skipped++;
      if (read.kind === "trailer") records_expected = read.records;
    }
  }
  const stored = new Map((await store.rows(kind.name, [...last.keys()])).map((row) => [row.key, row]));
  const publishedAt = await publishTimes(stored.values());
  const rows: RowWrite[] = [];
  for (const [key, { read, record }] of last) {
    const before = stored.get(key) ?? null;
    const outcome = outcomeOf(kind, run, before, read, publishedAt);
    counts[outcome]++;
    if (outcome === "unchanged" || outcome === "older") continue;
    const isClosed = read.kind === "closed";
    const tuple = isClosed ? before!.tuple : JSON.stringify(read.tuple);
    const references = isClosed ? [] : referencesOf(kind, key, read.tuple);
    const former = before === null ? [] : referencesOf(kind, key, JSON.parse(before.tuple) as Tuple);
    rows.push({
      key,
      digest: tupleDigest(tuple),
      run: run.run,
      line: record.line,
      offset: record.offset,
      tuple,
      closed_ms: isClosed ? run.publish_ms : null,
      references,
      dropped: former.filter((reference) => !references.includes(reference)),
      before: outcome === "changed" || isClosed ? before : null,
      ...(outcome === "renewed" && { changed_run: before!.changed_run ?? before!.run }),
    });
  }
  const place = records.at(-1)!.end;
  const next = {
    ...run,
    counts,
    bad_reasons,
    place,
    ...(records_expected !== undefined && { records_expected }),
  };
  return { run: next, rows, bad };
}

type RowOrClosed = Extract<ReadRecord, { readonly kind: "row" | "closed" }>;

function outcomeOf(
  kind: ImportKind,
  run: ImportRun,
  before: ImportedRow | null,
  read: RowOrClosed,
  publishedAt: (row: ImportedRow) => number,
): "created" | "changed" | "renewed" | "unchanged" | "older" | "closed" {
  if (before !== null && publishedAt(before) > run.publish_ms) return "older";
  if (read.kind === "closed") return before === null || before.closed_ms !== null ? "unchanged" : "closed";
  if (before === null) return "created";
  if (before.closed_ms !== null) return "changed";
  if (tupleDigest(JSON.stringify(read.tuple)) === before.digest) return "unchanged";
  return kind.isChange(JSON.parse(before.tuple) as Tuple, read.tuple) ? "changed" : "renewed";
}

const textOf = (record: unknown): string =>
  Array.isArray(record) ? record.join(",") : JSON.stringify(record);

/** Hands the companies of the rows that this run wrote to the search index. */
async function indexRows(
  deps: RunDeps,
  kind: ImportKind,
  begun: ImportRun,
  context: RunContext,
): Promise<ImportRun> {
  const { store, onRows, onProgress } = deps;
  let run = begun;
  for (;;) {
    const rows = await store.scan(kind.name, run.indexed_to, ROWS_A_BATCH);
    if (rows.length === 0) return run;
    assertOwner(context, run);
    const written = rows.filter((row) => row.run === run.run);
    const claims = written.length > 0 ? await onRows(kind, written) : 0;
    run = { ...run, claims: (run.claims ?? 0) + claims, indexed_to: rows.at(-1)!.key };
    await store.commit({ run, rows: [], bad: [] });
    onProgress(run);
    await yieldToEventLoop(deps.clock);
  }
}

/** Rows that a whole file has no more are closed only when they are few: a cut file would close a register. */
const MAX_ABSENT_SHARE = 0.01;
/** About one company in a hundred is dissolved in a month. */
const MAX_DISSOLVED_SHARE = 0.03;

/** Closes the rows that the file does not have. It reads the file again, so that nothing of it is kept between two nodes. */
async function closeAbsent(
  deps: RunDeps,
  kind: ImportKind,
  begun: ImportRun,
  context: RunContext,
): Promise<ImportRun> {
  const { store, onProgress } = deps;
  const before = (await runsOf(store, kind.name)).find((each) => each.run !== begun.run && isWhole(each));
  const warned = (warning: string): ImportRun => ({
    ...begun,
    phase: "index",
    warnings: [...begun.warnings, warning],
  });
  const { records_expected } = begun;
  // The trailer is a record itself; the header of an XML file is none.
  const records_read = begun.counts.records - (kind.has_trailer ? 1 : 0);
  if ((kind.has_trailer || records_expected !== undefined) && records_expected !== records_read)
    return warned("incomplete_file");
  if (before !== undefined && before.publish_ms > begun.publish_ms) return { ...begun, phase: "index" };
  const records = before?.counts.records ?? 0;
  const isCounted = records_expected !== undefined;
  const isShorter = begun.counts.records < records - Math.max(MIN_ABSENT, MAX_ABSENT_SHARE * records);
  if (isShorter && !isCounted) return warned("fewer_records_than_before");
  const keys = await keysOf(deps, kind, begun);
  const max_share = kind.absence === "dissolved" ? MAX_DISSOLVED_SHARE : MAX_ABSENT_SHARE;
  const absent: ImportedRow[] = [];
  let standing = 0;
  for (let after = ""; ;) {
    const rows = await store.scan(kind.name, after, ROWS_A_BATCH);
    if (rows.length === 0) break;
    after = rows.at(-1)!.key;
    const open = rows.filter(({ closed_ms }) => closed_ms === null);
    standing += open.length;
    absent.push(...open.filter(({ key }) => !keys.has(hashOf(key))));
    // Without a whole file before, rows of other files are not missing from this one.
    if (absent.length > Math.max(MIN_ABSENT, max_share * (before?.counts.records ?? standing)))
      return warned("many_rows_absent");
    await yieldToEventLoop(deps.clock);
  }
  let run: ImportRun = begun;
  for (let at = 0; at < absent.length; at += ROWS_A_BATCH) {
    assertOwner(context, run);
    const rows = absent.slice(at, at + ROWS_A_BATCH);
    run = { ...run, counts: { ...run.counts, closed: run.counts.closed + rows.length } };
    const closed = rows.map(({ changed_run: _changed, ...row }): RowWrite => ({
      ...row,
      run: run.run,
      // No record of the file says it.
      line: 0,
      offset: 0,
      closed_ms: run.publish_ms,
      references: [],
      dropped:
        kind.absence === "dissolved" ? [] : deps.referencesOf(kind, row.key, JSON.parse(row.tuple) as Tuple),
      before: row,
    }));
    await store.commit({ run, rows: closed, bad: [] });
    onProgress(run);
  }
  return { ...run, phase: "index" };
}

/** So many may be missing from a small file. */
const MIN_ABSENT = 10;

/** 52 bits: of ten million keys one pair in a hundred is equal, and then a row stays. */
const hashOf = (key: string): number =>
  Number.parseInt(createHash("sha256").update(key).digest("hex").slice(0, 13), 16);

async function keysOf(
  deps: Pick<RunDeps, "clock" | "files">,
  kind: ImportKind,
  run: ImportRun,
): Promise<ReadonlySet<number>> {
  const file = await deps.files.unpackFile(run.path);
  const fromStart = { ...run, counts: NO_COUNTS, place: 0 };
  const { rowOf, records } = await readRecords(kind, file.bytes, fromStart);
  const keys = new Set<number>();
  for await (const batch of records) {
    for (const { record } of batch) {
      const read = record === null ? null : rowOf(record);
      if (read?.kind === "row") keys.add(hashOf(read.key));
    }
    await yieldToEventLoop(deps.clock);
  }
  return keys;
}
