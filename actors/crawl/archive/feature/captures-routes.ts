/**
 * Captures of a project, in the form of the Internet Archive: GET /v1/archive/cdx lists them as its index does (and pywb's), and
 * GET /v1/archive/web/{timestamp}id_/{address} gives the bytes of the capture nearest to a time, as a memento (RFC 7089).
 */
import { RE2JS, RE2JSSyntaxException } from "re2js";
import { Type } from "typebox";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import { HEAD_TOO_LARGE, invalid, json } from "../../../../gateway/http-errors.ts";
import type { Reply } from "../../../../gateway/http.ts";
import { safeHeaders } from "../../../../gateway/routes/bodies.ts";
import { type Call, type Route, route } from "../../../../gateway/route.ts";
import type { ReadResult } from "../../../../gateway/validate.ts";
import type { ArchivedFetch, KeptExchange } from "../../../../schemas/archives.ts";
import { Field, Nullable } from "../../../../schemas/common.ts";
import { setsCookie } from "../../../lib/web/kept-exchange.ts";
import { parseUrl, unescaped } from "../../../lib/web/url.ts";
import { CDX_COLUMNS, cdxRow, MATCH_TYPES, type MatchType, storedCaptures } from "../captures.ts";
import type { StoredCapture } from "../collections.ts";
import { fieldOf } from "../warc/record.ts";
import { timestampOf } from "../warc/surt.ts";

export interface CapturesDeps {
  readonly blobs: Blobs;
  readonly documents: Documents;
}

const MAX_ROWS = 10_000;
const ROWS_DEFAULT = 1_000;
export const Timestamp = Type.String({ pattern: "^[0-9]{1,14}$" });
export const NOT_ARCHIVED = json(404, { detail: "this project has no capture of the address" });

const CdxQuery = Type.Object({
  url: Field(
    Type.String({ minLength: 1, maxLength: 8_192 }),
    "The address; with `*` at its end, everything that begins with it",
    "https://example.org/",
  ),
  matchType: Type.Optional(
    Field(
      Nullable(Type.Enum([...MATCH_TYPES])),
      "Which addresses: this one, those below it, its host's, also of subdomains",
    ),
  ),
  from: Type.Optional(Field(Nullable(Timestamp), "The first time: 1 to 14 digits, as 20261125", "2026")),
  to: Type.Optional(Field(Nullable(Timestamp), "The last time", "20261231")),
  limit: Field(Type.Integer({ minimum: 1, maximum: MAX_ROWS, default: ROWS_DEFAULT }), "The most captures"),
  filter: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 512 })),
      "`column:expression` (RE2, the whole value), with `!` before it: those that it does not fit",
      "statuscode:200",
    ),
  ),
  output: Type.Optional(
    Field(
      Nullable(Type.Enum(["json", "text"])),
      "A table, or a line for each capture with spaces between its columns",
    ),
  ),
});

export const capturesRoutes = (deps: CapturesDeps): readonly Route[] => [
  route({
    method: "GET",
    path: "/v1/archive/cdx",
    operationId: "listCaptures",
    summary: "What the project has archived of an address",
    description:
      `Documents that were fetched with \`archive\` in the last 30 days, by address and time, in the form of the CDX server of the Internet Archive: ${CDX_COLUMNS.join(", ")}. ` +
      "At most 50,000 captures are looked at for an answer.",
    tags: ["fetch"],
    query: CdxQuery,
    replies: {
      200: {
        description: "The names of the columns, then a row for each capture",
        schema: Type.Array(Type.Array(Type.String())),
        also: ["text/plain"],
      },
      431: HEAD_TOO_LARGE,
    },
    handle: ({ query, caller }) => listing(deps, caller.grant.project.name, query),
  }),
  route({
    method: "GET",
    path: "/v1/archive/web/{timestamp}id_/{address}",
    operationId: "getCapture",
    summary: "The bytes of an archived page",
    description:
      "The capture that is nearest to the time, 1 to 14 digits; `Memento-Datetime` says which one it is. Captures of errors are in the files of archives only. " +
      "The fields of the origin are there as `X-Archive-Orig-…`, but for cookies.",
    tags: ["fetch"],
    params: Type.Object({
      timestamp: Field(Timestamp, "The time", "20261125103000"),
      address: Field(Type.String(), "The address, as it is, with its query", "https://example.org/"),
    }),
    rest: true,
    // Its query is that of the address.
    readAddress: (params, query) => ({ body: readCapture(params, query), unknown: [] }),
    replies: {
      200: {
        description: "The bytes, without their content coding, under the origin's Content-Type",
        content_type: "application/octet-stream",
        also: ["*/*"],
        schema: Type.String({ format: "binary" }),
        headers: { "Memento-Datetime": "When it was captured", Link: "The original address" },
      },
      302: { description: "The capture is a redirect", headers: { Location: "The capture of its target" } },
      404: {
        description: "The project has no capture of the address",
        schema: Type.Object({ detail: Type.String() }),
      },
    },
    verbatim: true,
    handle: (call) => replay(deps, call),
  }),
];

async function listing(
  { documents }: CapturesDeps,
  project: string,
  {
    url: asked,
    matchType,
    from,
    to,
    limit,
    filter,
    output,
  }: {
    readonly url: string;
    readonly matchType?: MatchType | null;
    readonly from?: string | null;
    readonly to?: string | null;
    readonly limit: number;
    readonly filter?: string | null;
    readonly output?: "json" | "text" | null;
  },
): Promise<Reply> {
  const isPrefix = matchType == null && asked.endsWith("*");
  const url = parseUrl(withScheme(isPrefix ? asked.slice(0, -1) : asked));
  if (url === null) return mistake("url", "The url is no http or https URL");
  const fits = filterOf(filter ?? null);
  if (typeof fits === "string") return mistake("filter", fits);
  const rows: (readonly string[])[] = [];
  for await (const capture of storedCaptures(
    documents,
    project,
    url.href,
    matchType ?? (isPrefix ? "prefix" : "exact"),
  )) {
    const row = cdxRow(capture);
    const timestamp = row[1]!;
    if (timestamp < (from ?? "") || timestamp > (to ?? "").padEnd(14, "9") || !fits(capture)) continue;
    rows.push(row);
    if (rows.length >= limit) break;
  }
  if (output !== "text") return json(200, [CDX_COLUMNS, ...rows]);
  const text = rows.map((row) => `${row.join(" ")}\n`).join("");
  return { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: Buffer.from(text) };
}

const withScheme = (text: string): string => (/^https?:\/\//i.test(text) ? text : `http://${text}`);

const mistake = (field: string, msg: string): Reply =>
  invalid([{ loc: ["query", field], msg, type: "value_error" }]);

/** The test that the filter asks for; or why it cannot be read. */
function filterOf(filter: string | null): ((capture: StoredCapture) => boolean) | string {
  if (filter === null) return () => true;
  const parts = /^(!?)([a-z]+):(.*)$/s.exec(filter);
  const column = CDX_COLUMNS.findIndex((name) => name === parts?.[2]);
  if (!parts || column < 0) return `Write it as column:expression; the columns are ${CDX_COLUMNS.join(", ")}`;
  try {
    const expression = RE2JS.compile(parts[3]!);
    return (capture) => expression.matches(cdxRow(capture)[column]!) !== (parts[1] === "!");
  } catch (problem) {
    if (problem instanceof RE2JSSyntaxException) return problem.message;
    throw problem;
  }
}

interface WantedCapture {
  readonly timestamp: string;
  readonly url: string;
}

function readCapture(
  { timestamp = "", address = "" }: Readonly<Record<string, string>>,
  query: string,
): ReadResult<WantedCapture> {
  if (/^\d{1,14}$/.test(timestamp))
    return { kind: "read", value: { timestamp, url: query === "" ? address : `${address}?${query}` } };
  const msg = "Write the time as 1 to 14 digits";
  return { kind: "wrong", detail: [{ loc: ["path", "timestamp"], msg, type: "value_error" }] };
}

async function replay({ blobs, documents }: CapturesDeps, { caller, body }: Call): Promise<Reply> {
  // `readAddress` made the body.
  const { timestamp, url: asked } = body as WantedCapture;
  const url = parseUrl(addressOf(asked));
  if (url === null) return NOT_ARCHIVED;
  const capture = await nearest(documents, caller.grant.project.name, url.href, timestamp);
  if (capture === null) return NOT_ARCHIVED;
  const archived = JSON.parse((await readBody(blobs, capture.archive_sha256)).toString()) as ArchivedFetch;
  const { response } = archived.exchanges[capture.at]!;
  const headers = {
    ...originFields(response),
    "Memento-Datetime": new Date(capture.date).toUTCString(),
    Link: `<${capture.url}>; rel="original"`,
    "Cache-Control": "private, no-cache",
  };
  const location = fieldOf(response.fields, "location");
  const target = location === undefined || response.status < 300 ? null : parseUrl(location, url);
  if (target !== null) {
    const to = `/v1/archive/web/${timestampOf(capture.date)}id_/${target.href}`;
    return { status: 302, headers: { ...headers, Location: to } };
  }
  const kept = response.body;
  const type = fieldOf(response.fields, "content-type") ?? null;
  const shown = { ...headers, ...safeHeaders(type, capture.archive_sha256) };
  if (kept === null || !("sha256" in kept))
    return { status: 200, headers: shown, body: Buffer.from(kept?.base64 ?? "", "base64") };
  const chunks = await blobs.get(kept.sha256);
  return chunks === null
    ? NOT_ARCHIVED
    : { status: 200, headers: shown, body: { length: kept.bytes, chunks } };
}

/** Percent-encoded or as it is; of two slashes in a path some clients leave one. */
export function addressOf(text: string): string {
  const address = /^https?%3a/i.test(text) ? unescaped(text) : text;
  return withScheme(address.replace(/^(https?):\/(?!\/)/i, "$1://"));
}

/** The nearest of the captures that are no errors. Throws Fault. */
export async function nearest(
  documents: Documents,
  project: string,
  url: string,
  timestamp: string,
): Promise<StoredCapture | null> {
  const wanted_ms = millisecondsOf(timestamp);
  let best: StoredCapture | null = null;
  let best_ms = Infinity;
  for await (const capture of storedCaptures(documents, project, url, "exact")) {
    const away_ms = Math.abs(Date.parse(capture.date) - wanted_ms);
    if (capture.status >= 400 || away_ms >= best_ms) continue;
    best = capture;
    best_ms = away_ms;
  }
  return best;
}

/** The beginning of a time that may be cut short. */
function millisecondsOf(digits: string): number {
  const whole = digits + "00000101000000".slice(digits.length);
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(whole)!;
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

/** Fields of the origin that can be sent again. A name that stands there twice is joined. */
function originFields({ fields }: KeptExchange["response"]): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of fields) {
    const isPlain = /^[A-Za-z0-9-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
    if (!isPlain || setsCookie(name)) continue;
    const key = `X-Archive-Orig-${name.toLowerCase()}`;
    sent[key] = sent[key] === undefined ? value : `${sent[key]}, ${value}`;
  }
  return sent;
}
