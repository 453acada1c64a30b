/**
 * The interface of Wayback-compatible archives: which captures exist (CDX), where a capture is replayed unchanged
 * (`id_`), and whether a response is a capture at all. Pure functions; nothing is fetched.
 *
 * It understands the Internet Archive's CDX server (one JSON array whose first row names the columns) and pywb's (one
 * JSON object per line, other names). Both are asked for the captures closest to now; the result is sorted again here.
 */
import { createHash } from "node:crypto";
import { parseUrl, withoutTrailingSlash } from "../../lib/web/url.ts";

export interface Snapshot {
  /** YYYYMMDDhhmmss, UTC. */
  readonly timestamp: string;
  readonly original: string;
  readonly mime: string | null;
  /** SHA-1 of the payload in base32, as archives write it. */
  readonly digest: string | null;
}

/** Maximum age of a capture (`allow_archive` promises at most 365 days). */
export const MAX_AGE_MS = 365 * 24 * 3_600_000;
/** Captures that are tried before the result is archive_not_found. */
const MAX_CANDIDATES = 3;
/** Rows requested: with one capture an hour, four days of a page that is captured constantly. */
const ROWS_ASKED = 100;
/** Tolerated difference between the clocks; a capture further in the future is an error. */
const MAX_AHEAD_MS = 24 * 3_600_000;

const CDX_PATH = "/cdx/search/cdx";
/**
 * The Internet Archive's default columns. Selecting columns would need one more parameter, which pywb does not know.
 */
const COLUMNS = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
/** pywb's names of the columns. */
const ALIASES: Readonly<Record<string, string>> = {
  url: "original",
  mime: "mimetype",
  status: "statuscode",
};

/** The URL that lists the captures of a page, newest first as far as the archive supports it. */
export function cdxUrl(archive_url: string, url: string, now_ms: number): string {
  const query = new URLSearchParams({
    url,
    // Otherwise a URL that ends in "*" lists everything below it.
    matchType: "exact",
    output: "json",
    filter: "statuscode:200",
    collapse: "timestamp:10",
    from: timestampOf(now_ms - MAX_AGE_MS),
    closest: timestampOf(now_ms),
    sort: "closest",
    limit: String(ROWS_ASKED),
  });
  return `${withoutTrailingSlash(archive_url)}${CDX_PATH}?${query.toString()}`;
}

/** The listed captures; null: the response is not a CDX listing (archives send errors as HTML with status 200). */
export function readCdx(text: string): readonly Snapshot[] | null {
  const trimmed = text.trim();
  if (trimmed === "") return [];
  const table = parsed(trimmed);
  const rows = Array.isArray(table) ? fromTable(table) : fromLines(trimmed);
  return rows && rows.flatMap((row) => asSnapshot(row) ?? []);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Row = Readonly<Record<string, unknown>>;

function fromTable(table: readonly unknown[]): readonly Row[] | null {
  if (table.length === 0) return [];
  if (!table.every((row): row is unknown[] => Array.isArray(row))) {
    return table.every((row): row is Row => typeof row === "object" && row !== null) ? table : null;
  }
  const [first = []] = table;
  const isNamed = first.includes("timestamp");
  const names = isNamed ? first : COLUMNS;
  return (isNamed ? table.slice(1) : table).map((row) =>
    Object.fromEntries(names.map((name, at) => [String(name), row[at]])),
  );
}

function fromLines(text: string): readonly Row[] | null {
  const rows = text.split("\n").map((line) => parsed(line));
  return rows.every((row): row is Row => typeof row === "object" && row !== null) ? rows : null;
}

function asSnapshot(row: Row): Snapshot | null {
  const named = Object.fromEntries(
    Object.entries(row).map(([name, value]) => [ALIASES[name] ?? name, wordOf(value)]),
  );
  const { timestamp = "", original = "", mimetype = "", statuscode = "", digest = "" } = named;
  if (capturedMs(timestamp) === null || statuscode !== "200") return null;
  const url = parseUrl(original);
  if (url === null) return null;
  return {
    timestamp,
    original: url.href,
    mime: mimetype === "" || mimetype === "-" || mimetype === "unk" ? null : mimetype,
    digest: /^[A-Z2-7]{32}$/.test(digest) ? digest : null,
  };
}

const wordOf = (value: unknown): string =>
  typeof value === "string" ? value : typeof value === "number" ? String(value) : "";

/** The captures to try: recent, newest first, one per content. */
export function candidates(rows: readonly Snapshot[], now_ms: number): readonly Snapshot[] {
  const seen = new Set<string>();
  return rows
    .filter(({ timestamp }) => isRecent(timestamp, now_ms))
    .toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : -1))
    .filter(({ timestamp, digest }) => {
      const what = digest ?? timestamp;
      return !seen.has(what) && seen.add(what);
    })
    .slice(0, MAX_CANDIDATES);
}

export function isRecent(timestamp: string, now_ms: number): boolean {
  const at_ms = capturedMs(timestamp);
  return at_ms !== null && now_ms - at_ms <= MAX_AGE_MS && at_ms - now_ms <= MAX_AHEAD_MS;
}

/** The URL of the unchanged capture: `id_` leaves out the archive's banner and link rewriting. */
export const replayUrl = (
  archive_url: string,
  { timestamp, original }: Pick<Snapshot, "timestamp" | "original">,
) => `${withoutTrailingSlash(archive_url)}/web/${timestamp}id_/${original}`;

/** The capture that a URL of the archive replays, in any of its modes; null: another URL. */
export function readReplayUrl(
  archive_url: string,
  url: string,
): Pick<Snapshot, "timestamp" | "original"> | null {
  const base = URL.parse(`${withoutTrailingSlash(archive_url)}/web/`);
  const requested = URL.parse(url);
  if (!base || requested?.origin !== base.origin || !requested.href.startsWith(base.href)) return null;
  const parts = /^(\d{14})(?:[a-z]{2}_)?\/(.+)$/.exec(requested.href.slice(base.href.length));
  // Browsers and proxies reduce the two slashes of a URL inside a path to one.
  const original = parts && parseUrl(parts[2]!.replace(/^(https?):\/(?!\/)/, "$1://"));
  return original ? { timestamp: parts[1]!, original: original.href } : null;
}

/**
 * The time of the received capture, which may differ from the requested one: archives replay the nearest they have and
 * say so in Memento-Datetime (RFC 7089). Without it, the requested time counts.
 */
export function replayedTimestamp(headers: ReadonlyMap<string, string>, requested: string): string {
  const at_ms = Date.parse(headers.get("memento-datetime") ?? "");
  return Number.isNaN(at_ms) ? requested : timestampOf(at_ms);
}

/** ISO 8601, UTC; null: not a valid timestamp. */
export function archivedAt(timestamp: string): string | null {
  const at_ms = capturedMs(timestamp);
  return at_ms === null ? null : new Date(at_ms).toISOString();
}

function capturedMs(timestamp: string): number | null {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(timestamp);
  if (!parts) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const at_ms = Date.UTC(year, month - 1, day, hour, minute, second);
  // Date.UTC turns the 31st of February into another day.
  return timestampOf(at_ms) === timestamp ? at_ms : null;
}

const timestampOf = (at_ms: number): string =>
  new Date(at_ms).toISOString().replaceAll(/\D/g, "").slice(0, 14);

const ORIGIN_FIELD = "x-archive-orig-";
/** Fields that describe the bytes are taken from the replay itself; all others are the archive's own. */
const OF_THE_BYTES = ["content-type", "content-language", "content-disposition"];
/** Fields about the origin's connection, which no longer exists. */
const OF_THE_CONNECTION = new Set(["content-encoding", "transfer-encoding", "connection", "set-cookie"]);

/** The origin's header fields, as far as the archive passes them on. */
export function originalHeaders(replayed: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const own = OF_THE_BYTES.flatMap((name) =>
    replayed.has(name) ? [[name, replayed.get(name)!] as const] : [],
  );
  const origin = [...replayed].flatMap(([name, value]) => {
    const was = name.startsWith(ORIGIN_FIELD) ? name.slice(ORIGIN_FIELD.length) : "";
    return was === "" || OF_THE_CONNECTION.has(was) ? [] : [[was, value] as const];
  });
  return new Map([...origin, ...own]);
}

/** Phrases on an archive's own pages. */
const ARCHIVE_NOTICE =
  /wayback machine|internet archive|has not archived|not (?:been )?archived|too many requests|rate limit|temporarily (?:offline|unavailable)|services? (?:is|are) (?:offline|unavailable)/i;
/** An archive's own page is a few kilobytes of markup around a sentence. */
const MAX_NOTICE_BYTES = 32_768;

/**
 * Whether a replay with status 200 is the capture and not the archive's own page about its absence. Archives mark
 * captures with Memento-Datetime (RFC 7089) or pass on the origin's fields. Without either, the listed digest proves a
 * capture; without that, a page of another type than listed, or with an archive's phrases, is rejected.
 */
export function isCopy(
  headers: ReadonlyMap<string, string>,
  body: Buffer,
  { mime, digest }: Snapshot,
): boolean {
  if (headers.has("memento-datetime") || headers.keys().some((name) => name.startsWith(ORIGIN_FIELD))) {
    return true;
  }
  if (digest !== null && sha1(body) === digest) return true;
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "text/html") return true;
  if (mime !== null && mime !== "text/html" && mime !== "warc/revisit") return false;
  return body.length > MAX_NOTICE_BYTES || !ARCHIVE_NOTICE.test(body.toString("latin1"));
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** SHA-1 in base32 (RFC 4648): 160 bits are 32 letters without padding. */
function sha1(bytes: Buffer): string {
  const bits = BigInt(`0x${createHash("sha1").update(bytes).digest("hex")}`);
  return Array.from({ length: 32 }, (_, at) => BASE32[Number((bits >> BigInt(155 - 5 * at)) & 31n)]).join("");
}
