/**
 * Captures in Common Crawl: its list of crawls, its index (CDXJ, one JSON object a line), and the WARC record in one
 * range of one file. Pure functions, except for gzip; every length is limited before it is used.
 */
import { gunzipSync } from "node:zlib";
import { Type } from "typebox";
import { compiled } from "../../../../cluster/contracts/compiled.ts";
import { addressOf } from "../../../reading/content/similarity.ts";

const Crawls = compiled(
  Type.Array(Type.Object({ id: Type.String({ pattern: "^CC-MAIN-[0-9A-Za-z-]{1,40}$" }) })),
);

/** The newest crawls, as the index lists them. */
const CRAWLS_ASKED = 2;

export const crawlsUrl = (index_url: string): string => `${index_url}/collinfo.json`;

/** The newest crawls; null when the body is no list of crawls. */
export function readCrawls(body: string): readonly string[] | null {
  const list = parseJson(body);
  return Crawls.check(list) ? list.slice(0, CRAWLS_ASKED).map(({ id }) => id) : null;
}

export const capturesUrl = (index_url: string, crawl: string, url: string): string =>
  `${index_url}/${crawl}-index?${new URLSearchParams({ url, output: "json" }).toString()}`;

export interface Capture {
  /** YYYYMMDDhhmmss, UTC. */
  readonly timestamp: string;
  readonly filename: string;
  readonly offset: number;
  readonly length: number;
}

const Line = compiled(
  Type.Object({
    url: Type.String(),
    timestamp: Type.String({ pattern: "^\\d{14}$" }),
    status: Type.String(),
    filename: Type.String({ pattern: "^crawl-data/[\\w./=-]{1,400}\\.warc\\.gz$" }),
    offset: Type.String({ pattern: "^\\d{1,15}$" }),
    length: Type.String({ pattern: "^\\d{1,15}$" }),
    truncated: Type.Optional(Type.String()),
  }),
);
const MAX_LINES = 1_000;

/** The newest whole capture of this very page with a good status, or null. */
export function newestCapture(body: string, address: string): Capture | null {
  const captures = body
    .split("\n", MAX_LINES)
    .map(parseJson)
    .filter((line) => Line.check(line))
    .filter(({ url, status, truncated, filename }) => {
      const whole = truncated === undefined || truncated === "";
      return status === "200" && whole && !filename.includes("..") && addressOf(url) === address;
    });
  const newest = captures.toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : -1))[0];
  if (!newest) return null;
  const { timestamp, filename, offset, length } = newest;
  return { timestamp, filename, offset: Number(offset), length: Number(length) };
}

export const recordUrl = (data_url: string, { filename }: Capture): string => `${data_url}/${filename}`;

export const rangeOf = ({ offset, length }: Capture): string => `bytes=${offset}-${offset + length - 1}`;

const YEAR_MS = 365 * 86_400_000;

/** The time of the capture; null when it is no time, in the future or older than a year. */
export function capturedAt({ timestamp }: Capture, now_ms: number): string | null {
  const at = timestamp.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z");
  const at_ms = Date.parse(at);
  return Number.isNaN(at_ms) || at_ms > now_ms || now_ms - at_ms > YEAR_MS
    ? null
    : new Date(at_ms).toISOString();
}

export interface CapturedPage {
  readonly url: string;
  readonly status: number;
  /** Names in lower case; of repeated fields the first. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The WARC and HTTP headers around the page. */
const MAX_FRAME_BYTES = 262_144;
/** Common Crawl stores 5 MiB of a page at most, which gzip unpacks in about 20 ms, on this thread. */
const MAX_PAGE_BYTES = 5 * 2 ** 20;

/** The page in one gzipped WARC record, or null for anything else: broken, too large, cut off, no response. */
export function readRecord(packed: Buffer, max_bytes: number): CapturedPage | null {
  let record: Buffer;
  try {
    record = gunzipSync(packed, { maxOutputLength: MAX_PAGE_BYTES + MAX_FRAME_BYTES });
  } catch {
    return null;
  }
  const warc = headOf(record);
  if (!warc || !/^WARC\/1\.[01]$/.test(warc.start_line) || warc.fields.get("warc-type") !== "response")
    return null;
  if (warc.fields.has("warc-truncated")) return null;
  const url = warc.fields.get("warc-target-uri")?.replace(/^<(.*)>$/, "$1");
  const length = Number(warc.fields.get("content-length"));
  if (url === undefined || !Number.isSafeInteger(length) || warc.end + length > record.length) return null;
  const block = record.subarray(warc.end, warc.end + length);
  const http = headOf(block);
  const status = Number(/^HTTP\/[\d.]+ (\d{3})(?: |$)/.exec(http?.start_line ?? "")?.[1]);
  if (!http || !Number.isInteger(status)) return null;
  // Common Crawl stores decoded bodies and renames these fields; a body that is still encoded is not decoded here.
  if (http.fields.has("content-encoding") || http.fields.has("transfer-encoding")) return null;
  const body = block.subarray(http.end);
  return body.length > max_bytes ? null : { url, status, headers: http.fields, body: Buffer.from(body) };
}

function headOf(bytes: Buffer) {
  const end = bytes.indexOf("\r\n\r\n", 0, "latin1");
  if (end < 0 || end > MAX_FRAME_BYTES) return null;
  const [start_line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const fields = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name !== "" && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return { start_line, fields, end: end + 4 };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
