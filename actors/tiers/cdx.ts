/**
 * What a Wayback-compatible archive is asked and what its answers mean: which copies there are (CDX), where one is
 * replayed as it was (`id_`), whether what came is a copy at all. Functions of their arguments; nothing is fetched.
 *
 * Understood are the Internet Archive's CDX server (one JSON array, the first row names the columns) and pywb's (one
 * JSON object a line, other names). Both are asked for the captures closest to now and sorted here again.
 */
import { createHash } from "node:crypto";
import { parseUrl } from "../lib/web/url.ts";

export interface Snapshot {
  /** YYYYMMDDhhmmss, UTC. */
  readonly timestamp: string;
  readonly original: string;
  readonly mime: string | null;
  /** SHA-1 of the payload in base32, as archives write it. */
  readonly digest: string | null;
}

/** A copy older than this answers nobody (1-core.md, allow_archive). */
export const MAX_AGE_MS = 365 * 24 * 3_600_000;
/** Copies that are tried before the archive is said to have none. */
const MAX_CANDIDATES = 3;
/** Captures asked for: with one an hour, four days of a page that is captured all the time. */
const ROWS_ASKED = 100;
/** Archives and we may not agree on the time; a capture further ahead is a mistake. */
const MAX_AHEAD_MS = 24 * 3_600_000;

const CDX_PATH = "/cdx/search/cdx";
/** What the Internet Archive lists when nothing else is asked for; choosing columns would be one name too many for pywb. */
const COLUMNS = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
/** pywb's names. */
const ALIASES: Readonly<Record<string, string>> = {
  url: "original",
  mime: "mimetype",
  status: "statuscode",
};

const baseOf = (archive_url: string): string => archive_url.replace(/\/+$/, "");

/** The question which captures of a page there are, newest first as far as the archive can. */
export function cdxUrl(archive_url: string, url: string, now_ms: number): string {
  const query = new URLSearchParams({
    url,
    // Else an address that ends in "*" asks for everything below it.
    matchType: "exact",
    output: "json",
    filter: "statuscode:200",
    collapse: "timestamp:10",
    from: timestampOf(now_ms - MAX_AGE_MS),
    closest: timestampOf(now_ms),
    sort: "closest",
    limit: String(ROWS_ASKED),
  });
  return `${baseOf(archive_url)}${CDX_PATH}?${query.toString()}`;
}

/** The captures an answer lists; null when it is no CDX answer (archives say their errors in HTML, with status 200). */
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

/** The copies worth trying: young enough, newest first, one of each content. */
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

/** Where a copy is served as it was retrieved: `id_` leaves out the archive's own banner and rewriting. */
export const replayUrl = (
  archive_url: string,
  { timestamp, original }: Pick<Snapshot, "timestamp" | "original">,
) => `${baseOf(archive_url)}/web/${timestamp}id_/${original}`;

/** Which copy an address within the archive replays, whatever its way of rewriting; null for any other address. */
export function readReplayUrl(
  archive_url: string,
  url: string,
): Pick<Snapshot, "timestamp" | "original"> | null {
  const base = URL.parse(`${baseOf(archive_url)}/web/`);
  const requested = URL.parse(url);
  if (!base || requested?.origin !== base.origin || !requested.href.startsWith(base.href)) return null;
  const parts = /^(\d{14})(?:[a-z]{2}_)?\/(.+)$/.exec(requested.href.slice(base.href.length));
  // Browsers and proxies fold the two slashes of an address inside a path into one.
  const original = parts && parseUrl(parts[2]!.replace(/^(https?):\/(?!\/)/, "$1://"));
  return original ? { timestamp: parts[1]!, original: original.href } : null;
}

/**
 * When the copy that came was taken, which need not be the one that was asked for: archives replay the nearest one
 * they have. RFC 7089 has them say so; else what was asked for counts.
 */
export function replayedTimestamp(headers: ReadonlyMap<string, string>, requested: string): string {
  const at_ms = Date.parse(headers.get("memento-datetime") ?? "");
  return Number.isNaN(at_ms) ? requested : timestampOf(at_ms);
}

/** ISO 8601, UTC; null for what is no time. */
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
  // The 31st of February would be another day.
  return timestampOf(at_ms) === timestamp ? at_ms : null;
}

const timestampOf = (at_ms: number): string =>
  new Date(at_ms).toISOString().replaceAll(/\D/g, "").slice(0, 14);

const ORIGIN_FIELD = "x-archive-orig-";
/** What describes the bytes of a replayed copy is the replay's to say; everything else an archive sends is its own. */
const OF_THE_BYTES = ["content-type", "content-language", "content-disposition"];
/** How the origin framed the body is gone with the connection. */
const OF_THE_CONNECTION = new Set(["content-encoding", "transfer-encoding", "connection", "set-cookie"]);

/** The header fields the origin sent with the copy, as far as the archive hands them on. */
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

/** What archives write on pages of their own. */
const ARCHIVE_NOTICE =
  /wayback machine|internet archive|has not archived|not (?:been )?archived|too many requests|rate limit|temporarily (?:offline|unavailable)|services? (?:is|are) (?:offline|unavailable)/i;
/** An archive's own page is a few kilobytes of markup with a sentence in it. */
const MAX_NOTICE_BYTES = 32_768;

/**
 * Whether a replay with status 200 is the copy and not the archive's own page about why there is none. Archives mark
 * copies (RFC 7089, Memento-Datetime) or hand on the origin's fields; without marks the listed digest proves it, and
 * without that, a page that is of another type than listed or speaks as an archive is not believed.
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
