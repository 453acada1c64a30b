/** All records of one fetch: its exchanges, what was tried, and what was made of the page. Pure but for reading bodies. */
import { readBody } from "../../../../cluster/read-body.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { ArchivedFetch, KeptExchange } from "../../../../schemas/archives.ts";
import type { PageFormats, PageRecord } from "../../../../schemas/fetch.ts";
import {
  common,
  exchangeRecords,
  type Original,
  type Part,
  recordId,
  type WarcRecord,
  warcRecord,
} from "./record.ts";

/** The first record of each payload of a file, by its SHA-256, and of each exchange that fetches share, by its address and time. */
export type Originals = Map<string, Original>;

/** Payloads beyond so many are written again instead of referred to. */
const MAX_ORIGINALS = 100_000;

export interface PageRecords {
  readonly records: readonly WarcRecord[];
  /** Payloads and shared exchanges that later fetches may refer to. */
  readonly originals: readonly (readonly [key: string, of: Original])[];
}

/** Adds the page's payloads to `seen`. Throws Fault. */
export async function pageRecords(
  blobs: Pick<Blobs, "get" | "head">,
  record: PageRecord & { readonly archive: NonNullable<PageRecord["archive"]> },
  seen: Originals,
): Promise<PageRecords> {
  const { sha256 } = record.archive;
  const archived = JSON.parse((await readBody(blobs as Blobs, sha256)).toString()) as ArchivedFetch;
  const records: WarcRecord[] = [];
  const originals: (readonly [string, Original])[] = [];
  const ids: string[] = [];
  for (const [n, exchange] of archived.exchanges.entries()) {
    const shared = exchange.is_shared === true ? `${exchange.url} ${exchange.started_at}` : null;
    const written = shared === null ? undefined : seen.get(shared);
    if (written) {
      ids.push(written.record_id);
      continue;
    }
    const made = exchangeRecords(exchange, `${sha256} ${n}`, (digest) => seen.get(digest) ?? null);
    records.push(...made.records);
    ids.push(made.response_id);
    if (shared !== null && seen.size < MAX_ORIGINALS) {
      const of = { record_id: made.response_id, url: exchange.url, date: exchange.started_at };
      seen.set(shared, of);
      originals.push([shared, of]);
    }
    if (made.original === null || seen.size >= MAX_ORIGINALS) continue;
    seen.set(made.original.digest, made.original.of);
    originals.push([made.original.digest, made.original.of]);
  }
  const at = mainExchange(archived.exchanges, record.final_url);
  const main = archived.exchanges[at];
  if (main === undefined) return { records, originals };
  const main_id = ids[at]!;
  records.push(metadataRecord(archived, ids, main_id, main, sha256));
  const made = await derivedParts(blobs, record);
  for (const { name, type, part } of made)
    records.push(
      warcRecord(
        [
          ...common("conversion", recordId(sha256, name), main.started_at),
          ["WARC-Target-URI", `urn:${name}:${main.url}`],
          ["WARC-Refers-To", main_id],
          ["Content-Type", type],
        ],
        [part],
      ),
    );
  return { records, originals };
}

/** The one that brought the page; else the last one with a body. */
function mainExchange(exchanges: readonly KeptExchange[], final_url: string | null): number {
  const ofPage = exchanges.findLastIndex(({ url }) => url === final_url);
  return ofPage >= 0
    ? ofPage
    : Math.max(
        0,
        exchanges.findLastIndex(({ response, is_shared }) => response.body !== null && !is_shared),
      );
}

/** Record of the attempts, and of the fields of each exchange as they came: the records before it have renamed some. */
function metadataRecord(
  { url, exchanges, attempts, blocked = [] }: ArchivedFetch,
  ids: readonly string[],
  main_id: string,
  main: KeptExchange,
  sha256: string,
): WarcRecord {
  const told = exchanges.map(({ request, response, tls }, at) => ({
    record_id: ids[at]!,
    request_fields: request.fields,
    request_fields_omitted: request.omitted,
    request_body_omitted_bytes: request.omitted_bytes,
    response_fields: response.fields,
    response_fields_omitted: response.omitted ?? [],
    certificate_sha256: tls?.certificate_sha256 ?? null,
  }));
  return warcRecord(
    [
      ...common("metadata", recordId(sha256, "metadata"), main.started_at),
      // Under the page's own address pywb would replay this record in the place of the page.
      ["WARC-Target-URI", `urn:metadata:${main.url}`],
      ["WARC-Concurrent-To", main_id],
      ["Content-Type", "application/json"],
    ],
    [Buffer.from(JSON.stringify({ url, attempts, resources_blocked: blocked, exchanges: told }))],
  );
}

interface Derived {
  readonly name: string;
  readonly type: string;
  readonly part: Part;
}

async function derivedParts(
  blobs: Pick<Blobs, "get" | "head">,
  { body_kind, sha256, bytes, text, text_sha256, formats_sha256, screenshot }: PageRecord,
): Promise<readonly Derived[]> {
  const derived: Derived[] = [];
  const add = (name: string, type: string, part: Part | null): void => {
    if (part !== null && (!Buffer.isBuffer(part) || part.length > 0)) derived.push({ name, type, part });
  };
  const stored = async (digest: string | null | undefined): Promise<Part | null> => {
    const head = digest ? await blobs.head(digest) : null;
    return head && { sha256: digest!, bytes: head.bytes };
  };
  if (body_kind === "rendered_dom" && sha256 !== null)
    add("rendered", "text/html; charset=utf-8", { sha256, bytes });
  add("text", "text/plain; charset=utf-8", text === null ? await stored(text_sha256) : Buffer.from(text));
  if (formats_sha256) {
    const formats = JSON.parse((await readBody(blobs as Blobs, formats_sha256)).toString()) as PageFormats;
    add("markdown", "text/markdown; charset=utf-8", Buffer.from(formats.markdown ?? ""));
  }
  if (screenshot) add("view", screenshot.content_type, await stored(screenshot.sha256));
  return derived;
}
