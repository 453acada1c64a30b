/**
 * Reads the header fields and first bytes of an answer: which fields are shown, when to retry, how long it stays fresh, which
 * kind of content it is. It never decodes a body.
 */
import { MIMEType } from "whatwg-mimetype";
import type { ContentKind, OfficeKind } from "../../../schemas/fetch.ts";
import { utf16Of } from "./utf16.ts";

/** The origin's header fields that FetchResponse.headers shows. Never cookies. */
const EXPOSED = [
  "content-type",
  "content-length",
  "content-language",
  "content-disposition",
  "etag",
  "last-modified",
  "cache-control",
  "expires",
  "date",
  "link",
  "x-robots-tag",
] as const;

/** Longer values are cut: Link fields of some origins run to tens of kilobytes. */
const MAX_EXPOSED_CHARS = 8_192;

/** A field's value as it may be stored and shown: without control characters, and cut to a maximum length. */
const sanitised = (value: string): string =>
  value
    .slice(0, MAX_EXPOSED_CHARS)
    .replaceAll(/\p{Cc}+/gu, " ")
    .trim();

/** The allowlisted fields of an answer, names in lower case. */
export function exposedHeaders(headers: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    EXPOSED.flatMap((name) => (headers.has(name) ? [[name, sanitised(headers.get(name)!)]] : [])),
  );
}

/** Longer waits are mistakes of the origin. */
const MAX_RETRY_AFTER_S = 31_536_000;

/** The three forms of an HTTP-date (RFC 9110, 5.6.7); the last one, asctime, is in GMT without saying so. */
const HTTP_DATE = /^(?:[a-z]{3}, |[a-z]{6,9}, )\d|^([a-z]{3} [a-z]{3} [ \d]\d \d\d:\d\d:\d\d \d{4})$/i;

/** Unix milliseconds, or null for what is no HTTP-date. */
function readHttpDate(value: string): number | null {
  const form = HTTP_DATE.exec(value);
  const at_ms = form ? Date.parse(form[1] === undefined ? value : `${form[1]} GMT`) : Number.NaN;
  return Number.isNaN(at_ms) ? null : at_ms;
}

/** The wait that Retry-After asks for, in whole seconds, rounded up; 0 for a past date, null for an invalid value. */
export function retryAfterSeconds(value: string | null | undefined, now_ms: number): number | null {
  const text = value?.trim() ?? "";
  const at_ms = readHttpDate(text);
  const wait_s = /^\d+(?:\.\d+)?$/.test(text)
    ? Number(text)
    : at_ms === null
      ? null
      : Math.max(0, (at_ms - now_ms) / 1_000);
  return wait_s === null ? null : Math.min(MAX_RETRY_AFTER_S, Math.ceil(wait_s));
}

export interface OriginFreshness {
  readonly no_store: boolean;
  /** A response to one user, which a shared cache must not store. */
  readonly is_private: boolean;
  /** How much longer a shared cache may answer with this response; null when the origin does not say. */
  readonly max_age_s: number | null;
}

/** Cache-Control and Expires as a shared cache reads them (RFC 9111, 4.2): s-maxage, max-age, Expires; less Age. */
export function freshnessOf(headers: ReadonlyMap<string, string>, now_ms: number): OriginFreshness {
  const directives = new Map(
    (headers.get("cache-control") ?? "")
      .split(",")
      .map((part) => part.trim().split("=", 2))
      // The first of a repeated directive counts.
      .toReversed()
      .map(([name, value]) => [name!.toLowerCase().trim(), value?.trim().replace(/^"|"$/g, "")] as const),
  );
  const seconds = (text: string | undefined) =>
    text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) : null;
  const no_store = directives.has("no-store");
  const is_private = directives.has("private");
  const common = { no_store, is_private };
  const max_age_s = seconds(directives.get("s-maxage")) ?? seconds(directives.get("max-age"));
  const age_s = seconds(headers.get("age")?.trim()) ?? 0;
  if (directives.has("no-cache")) return { ...common, max_age_s: 0 };
  if (max_age_s !== null) return { ...common, max_age_s: Math.max(0, max_age_s - age_s) };
  const expires = headers.get("expires");
  if (expires === undefined) return { ...common, max_age_s: null };
  // A value that is no date ("0", "-1") means it has expired (RFC 9111, 5.3).
  const until_ms = readHttpDate(expires.trim()) ?? 0;
  const from_ms = readHttpDate(headers.get("date")?.trim() ?? "") ?? now_ms;
  const left_s = Math.floor((until_ms - from_ms) / 1_000) - age_s;
  return { ...common, max_age_s: Math.min(MAX_RETRY_AFTER_S, Math.max(0, left_s)) };
}

/** As many bytes are looked at when guessing (whatwg mimesniff, 7.1, takes 1,445). */
const SNIFFED_BYTES = 4_096;

/** Types without information: the bytes decide. */
const SAYS_NOTHING = new Set([
  "application/octet-stream",
  "binary/octet-stream",
  "application/binary",
  "application/unknown",
  "unknown/unknown",
  "application/force-download",
  "application/download",
  "application/x-download",
  "*/*",
]);

/** Text types outside text/. */
const TEXT_TYPES = new Set([
  "application/javascript",
  "application/x-javascript",
  "application/ecmascript",
  "application/x-ndjson",
  "application/jsonl",
  "application/jsonlines",
  "application/yaml",
  "application/x-yaml",
  "application/toml",
  "application/sql",
  "application/x-sh",
  "application/x-tex",
  "application/x-latex",
  "application/x-subrip",
  "application/csv",
  "message/rfc822",
]);

const HTML_START =
  /^\s*(?:<!doctype html|<(?:html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link|!--)[\s>]|<!--)/i;
const XML_START = /^\s*<(?:\?xml[\s?]|rss[\s>]|feed[\s>]|rdf:rdf[\s>]|urlset[\s>]|sitemapindex[\s>])/i;
const FEED_ROOT = /^\s*(?:<\?[^>]*>\s*|<!--(?:[^-]|-[^-])*-->\s*)*<(?:rss|feed|rdf:rdf)[\s>]/i;
const XHTML_ROOT = /^\s*(?:<\?[^>]*>\s*|<!--(?:[^-]|-[^-])*-->\s*|<!doctype[^>]*>\s*)*<html[\s>]/i;
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*["[\]{\d\-tfn])/;
// Bytes no text has (whatwg mimesniff, 3): control characters other than tab, line feeds, form feed and escape.
// oxlint-disable-next-line no-control-regex
const BINARY = /[\u0000-\u0008\u000b\u000e-\u001a\u001c-\u001f]/;

const OOXML = "application/vnd.openxmlformats-officedocument";
const OASIS = "application/vnd.oasis.opendocument";
/** Types of office documents and e-books as they are declared, or written in the first file of their container. */
const OFFICE_TYPES: Readonly<Record<string, OfficeKind>> = {
  [`${OOXML}.wordprocessingml.document`]: "docx",
  "application/vnd.ms-word.document.macroenabled.12": "docx",
  [`${OOXML}.spreadsheetml.sheet`]: "xlsx",
  "application/vnd.ms-excel.sheet.macroenabled.12": "xlsx",
  [`${OOXML}.presentationml.presentation`]: "pptx",
  "application/vnd.ms-powerpoint.presentation.macroenabled.12": "pptx",
  [`${OASIS}.text`]: "odt",
  [`${OASIS}.spreadsheet`]: "ods",
  [`${OASIS}.presentation`]: "odp",
  "application/epub+zip": "epub",
  "application/rtf": "rtf",
  "application/x-rtf": "rtf",
  "text/rtf": "rtf",
};
/** The main part of each Office Open XML container (ECMA-376-2). */
const OOXML_PARTS: readonly (readonly [part: string, kind: OfficeKind])[] = [
  ["word/document.xml", "docx"],
  ["xl/workbook.xml", "xlsx"],
  ["ppt/presentation.xml", "pptx"],
];
const ZIP_START = "PK\u0003\u0004";
const RTF_START = "{\\rtf";
/** Where the list of a container's files is searched: its end. */
const ZIP_LIST_BYTES = 65_536;

/** By what is in the bytes; null: no office document. Macros and other parts of a container are not looked at. */
function officeKindOf(bytes: Buffer, start: string): OfficeKind | null {
  if (start.startsWith(RTF_START)) return "rtf";
  if (!start.startsWith(ZIP_START)) return null;
  // The first file of an OpenDocument or EPUB container is its type, not compressed.
  const type = /^mimetype([a-z0-9.+/-]+)/.exec(start.slice(30))?.[1];
  if (type !== undefined) return OFFICE_TYPES[type] ?? null;
  const names = bytes.toString("latin1", Math.max(0, bytes.length - ZIP_LIST_BYTES));
  return OOXML_PARTS.find(([part]) => start.includes(part) || names.includes(part))?.[1] ?? null;
}

/**
 * The kind of a response's content, from its declared type and its first bytes. A PDF is recognised by its first bytes
 * whatever its type; a type without information is replaced by a guess from the bytes, with the URL's ending as the last hint.
 */
export function contentKindOf(content_type: string | null, bytes: Buffer, url: string): ContentKind {
  const start = startOf(bytes);
  if (/^\s*%PDF-/.test(start)) return "pdf";
  const type = typeOf(content_type ?? "");
  const essence = type?.essence ?? "";
  const office = officeKindOf(bytes, start);
  if (office !== null) return office;
  const declared = OFFICE_TYPES[essence];
  if (declared) return bytes.length === 0 ? declared : HTML_START.test(start) ? "html" : "binary";
  if (type === null || SAYS_NOTHING.has(essence)) return guessed(start, bytes, url);
  if (essence === "application/pdf" || essence === "application/x-pdf") {
    // An error page under the type of the document that was asked for.
    return HTML_START.test(start) ? "html" : "pdf";
  }
  if (essence === "text/html") return FEED_ROOT.test(start) ? "xml" : "html";
  if (essence === "application/xhtml+xml") return "html";
  if (type.isXML() || essence.endsWith("+xml")) return XHTML_ROOT.test(start) ? "html" : "xml";
  if (essence === "application/json" || essence === "text/json" || essence.endsWith("+json")) return "json";
  if (type.type === "text" || TEXT_TYPES.has(essence)) return isBinary(start, bytes) ? "binary" : "text";
  return "binary";
}

const TYPES: Readonly<Record<ContentKind, string>> = {
  html: "text/html",
  pdf: "application/pdf",
  text: "text/plain",
  json: "application/json",
  xml: "application/xml",
  docx: `${OOXML}.wordprocessingml.document`,
  xlsx: `${OOXML}.spreadsheetml.sheet`,
  pptx: `${OOXML}.presentationml.presentation`,
  odt: `${OASIS}.text`,
  ods: `${OASIS}.spreadsheet`,
  odp: `${OASIS}.presentation`,
  epub: "application/epub+zip",
  rtf: "application/rtf",
  binary: "application/octet-stream",
};

/** The type of a body: as the origin declared it where that is its kind, else the kind's own. */
export function bodyTypeOf(declared: string | null, kind: ContentKind, charset: string | null): string {
  const type = typeOf(declared ?? "");
  const isTold = type !== null && !SAYS_NOTHING.has(type.essence);
  if (isTold && contentKindOf(declared, Buffer.alloc(0), "") === kind) return declared!;
  return charset === null ? TYPES[kind] : `${TYPES[kind]}; charset=${charset.toLowerCase()}`;
}

/** The last of a repeated field that can be read; a repeated field arrives joined by commas. */
function typeOf(content_type: string): MIMEType | null {
  const whole = MIMEType.parse(content_type);
  if (whole !== null) return whole;
  return (
    content_type
      .split(",")
      .map((value) => MIMEType.parse(value))
      .findLast((type) => type !== null) ?? null
  );
}

function guessed(start: string, bytes: Buffer, url: string): ContentKind {
  // Junk before the header is allowed within the first 1,024 bytes (PDF 1.7, annex H.3.4.1).
  if (start.slice(0, 1_024).includes("%PDF-") && !HTML_START.test(start)) return "pdf";
  if (isBinary(start, bytes)) return "binary";
  if (XHTML_ROOT.test(start)) return "html";
  if (XML_START.test(start)) return "xml";
  if (HTML_START.test(start)) return "html";
  if (JSON_START.test(start) && /[\]}]\s*$/.test(bytes.toString("latin1", Math.max(0, bytes.length - 64)))) {
    return "json";
  }
  if (bytes.length > 0) return "text";
  const ending = /\.([a-z0-9]{1,5})$/i.exec(URL.parse(url)?.pathname ?? "")?.[1]?.toLowerCase();
  return ENDINGS[ending ?? ""] ?? "text";
}

/** Only for an empty body of a type without information. */
const ENDINGS: Readonly<Record<string, ContentKind>> = {
  pdf: "pdf",
  json: "json",
  xml: "xml",
  html: "html",
  htm: "html",
};

const hasByteOrderMark = (bytes: Buffer): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) ||
  (bytes[0] === 0xfe && bytes[1] === 0xff) ||
  (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf);

const isBinary = (start: string, bytes: Buffer): boolean => !hasByteOrderMark(bytes) && BINARY.test(start);

/** The first bytes as characters to match against; of wide text every other byte is dropped. */
function startOf(bytes: Buffer): string {
  const text = bytes.toString("latin1", 0, SNIFFED_BYTES);
  if (hasByteOrderMark(bytes)) return bytes[0] === 0xef ? text.slice(3) : text.slice(2).replaceAll("\0", "");
  if (utf16Of(bytes) === null) return text;
  const wide = text.replaceAll("\0", "");
  // Zero bytes alone make no text: it must read as markup, or have no other byte that only binary files have.
  return HTML_START.test(wide) || XML_START.test(wide) || !BINARY.test(wide) ? wide : text;
}
