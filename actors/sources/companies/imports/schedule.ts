/**
 * Files that are imported again and again from the operator's addresses: when a kind is due, and which address is asked. A source that publishes
 * what changed is asked for the smallest file that begins before the last import. Pure.
 */
import { collection } from "../../../../cluster/collection.ts";
import type { ImportKind } from "./import-kind.ts";

export interface ScheduledFile {
  readonly kind: ImportKind;
  readonly url: string;
  readonly every_ms: number;
}

/** The last request for a scheduled file, and when the next is due. */
export interface ScheduleState {
  /** That was asked; validators of another address say nothing. */
  readonly address: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
  readonly next_ms: number;
}

/** By the kind of file. */
export const IMPORT_SCHEDULES = collection<ScheduleState>("company_import_schedules");

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_HOURS = 24 * 366;
/** After a failure. */
const RETRY_MS = HOUR_MS;

const ENTRY = /^([a-z0-9_]{1,64})=(https?:\/\/.{1,2000})@([0-9]{1,4})h$/;

/** Whether a setting has the form; its kinds are looked up when the register is opened. */
export const isSchedule = (text: string): boolean =>
  entriesOf(text).every((entry) => partsOf(entry) !== null);

const entriesOf = (text: string): readonly string[] => text.split(/\s+/).filter((part) => part !== "");

function partsOf(
  entry: string,
): { readonly name: string; readonly url: string; readonly hours: number } | null {
  const [, name, url, written] = ENTRY.exec(entry) ?? [];
  const hours = Number(written);
  if (url === undefined || URL.parse(url) === null || hours < 1 || hours > MAX_HOURS) return null;
  return { name: name!, url, hours };
}

/** `brreg=https://…@24h`, separated by blanks. Throws Error, which says what is wrong. */
export function scheduleOf(text: string, kinds: readonly ImportKind[]): readonly ScheduledFile[] {
  const files: ScheduledFile[] = [];
  for (const entry of entriesOf(text)) {
    const problem = (what: string): Error => new Error(`Cannot use TRAWL_COMPANY_IMPORT_SCHEDULE: ${what}`);
    const parts = partsOf(entry);
    if (parts === null) throw problem(`"${entry}" is not KIND=ADDRESS@HOURSh`);
    const { name, url, hours } = parts;
    const kind = kinds.find((each) => each.name === name);
    if (kind === undefined)
      throw problem(`"${name}" is no kind of file: ${kinds.map((each) => each.name).join(", ")}`);
    if (kind.needs_consent)
      throw problem(`"${name}" is imported by the command only, which names its licence`);
    if (files.some((each) => each.kind === kind)) throw problem(`"${name}" is there twice`);
    files.push({ kind, url, every_ms: hours * HOUR_MS });
  }
  return files;
}

export const isDue = (state: ScheduleState | null, now_ms: number): boolean =>
  state === null || state.next_ms <= now_ms;

/** When the next request is due; `every_ms` after this one, a failed one sooner. */
export const nextRequestMs = ({ every_ms }: ScheduledFile, now_ms: number, isFailed: boolean): number =>
  now_ms + (isFailed ? Math.min(every_ms, RETRY_MS) : every_ms);

/** GLEIF's files of what changed, by the parameter `delta` of their addresses. */
const WINDOWS: readonly (readonly [name: string, ms: number])[] = [
  ["IntraDay", 8 * HOUR_MS],
  ["LastDay", DAY_MS],
  ["LastWeek", 7 * DAY_MS],
  ["LastMonth", 31 * DAY_MS],
];
/** A file is published up to two hours after the time in its name, and the one before it eight hours earlier. */
const MARGIN_MS = 2 * HOUR_MS;

/** `imported_ms`: when the last file that was imported was published; null: none was. */
export function fileToAsk(
  { kind, url }: ScheduledFile,
  imported_ms: number | null,
  now_ms: number,
): { readonly address: string; readonly is_full: boolean } {
  const whole = { address: url, is_full: true };
  if (!kind.has_deltas || imported_ms === null) return whole;
  const window = WINDOWS.find(([, ms]) => now_ms - ms + MARGIN_MS <= imported_ms);
  if (window === undefined) return whole;
  const address = new URL(url);
  address.searchParams.set("delta", window[0]);
  return { address: address.href, is_full: false };
}

/** `20260920-0800-gleif-…` and `BasicCompanyDataAsOneFile-2026-09-01.zip`; null: the name has no date. */
export function publishedInName(file: string): number | null {
  const [, year, month, day, hour = "00", minute = "00"] =
    /(20[0-9]{2})-?([01][0-9])-?([0-3][0-9])(?:-([0-2][0-9])([0-5][0-9]))?/.exec(file) ?? [];
  const named = year === undefined ? NaN : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00Z`);
  return Number.isNaN(named) ? null : named;
}
