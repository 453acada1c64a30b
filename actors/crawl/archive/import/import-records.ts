/**
 * Imports the records of an archive file: a response, with its request, a revisit or a resource is a capture of its owner; every other
 * record is counted by its kind. A capture's exchange and body are stored before the capture, and referred to before that.
 */
import type { BodyRefs } from "../../../../cluster/body-refs.ts";
import { type Blobs, sha256Of } from "../../../../cluster/ports/blobs.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { ArchivedFetch, KeptExchange } from "../../../../schemas/archives.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { storedCaptures, storeImported } from "../captures.ts";
import {
  ARCHIVE_PAYLOADS,
  type StoredCapture,
  type StoredImport,
  type StoredPayload,
} from "../collections.ts";
import { mimeOf } from "../warc/record.ts";
import { decodedBody, httpHead, methodOf, statusOf } from "./http-message.ts";
import type { WarcRecordRead } from "./read-warc.ts";
import { isContradicted } from "./record-digests.ts";
import { capturesHolder, importKey } from "./stored-import.ts";

/** Limit of a payload, as it is sent and without its coding. */
export const MAX_BODY_BYTES = 64 * 2 ** 20;
const MAX_HEAD_BYTES = 262_144;
/** Requests that wait for their response: writers put them beside each other. */
const MAX_REQUESTS = 100;

export interface RecordsDeps {
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly refs: BodyRefs;
  /** Puts a page into the search index. False: it has none, or the page is not for it. */
  readonly index: (page: ImportedPage) => Promise<boolean>;
}

export interface ImportedPage {
  readonly url: string;
  readonly project: string;
  readonly is_shared: boolean;
  readonly date: string;
  readonly fields: KeptExchange["response"]["fields"];
  readonly body: Buffer;
}

/** Counts of the records since the last place. */
export interface Tally {
  records: number;
  captures: number;
  known: number;
  indexed: number;
  bytes: number;
  readonly skipped: Record<string, number>;
  readonly bad: Record<string, number>;
}
export const emptyTally = (): Tally => ({
  records: 0,
  captures: 0,
  known: 0,
  indexed: 0,
  bytes: 0,
  skipped: {},
  bad: {},
});
export const countOf = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1;
};

type Request = Pick<KeptExchange["request"], "method" | "fields">;
const NO_REQUEST: Request = { method: "GET", fields: [] };

interface Draft {
  readonly exchange: KeptExchange;
  readonly record_id: string | null;
  readonly digest: string | null;
  readonly body: Buffer | null;
  readonly is_damaged: boolean;
}

export class RecordImporter {
  readonly #deps: RecordsDeps;
  readonly #stored: StoredImport;
  readonly #owner: string;
  readonly #tally: Tally;
  /** By the id of their response. */
  readonly #requests = new Map<string, Request>();
  #draft: Draft | null = null;

  constructor(deps: RecordsDeps, stored: StoredImport, owner: string, tally: Tally) {
    this.#deps = deps;
    this.#stored = stored;
    this.#owner = owner;
    this.#tally = tally;
  }

  /** Nothing of what was read so far waits for a record behind it. */
  get isSettled(): boolean {
    return this.#draft === null && this.#requests.size === 0;
  }

  /** Throws Fault. */
  async record(record: WarcRecordRead): Promise<void> {
    this.#tally.records++;
    const draft = this.#draft;
    if (record.type === "request") return this.#request(record, draft);
    if (draft !== null) await this.settle();
    if (record.type === "response" || record.type === "resource" || record.type === "revisit")
      return this.#capture(record, record.type);
    countOf(this.#tally.skipped, /^[a-z]{1,16}$/.test(record.type) ? record.type : "unknown_type");
  }

  /** Stores what waited for its request. Throws Fault. */
  async settle(): Promise<void> {
    const draft = this.#draft;
    this.#draft = null;
    this.#requests.clear();
    if (draft !== null) await this.#store(draft);
  }

  async #request(record: WarcRecordRead, draft: Draft | null): Promise<void> {
    const message = await wholeOf(record, MAX_HEAD_BYTES);
    const head = message && httpHead(message);
    const method = head && methodOf(head.start);
    const of = record.field("warc-concurrent-to");
    const request = head && method ? { method, fields: head.fields } : null;
    if (draft !== null && (of === null || of === draft.record_id)) {
      this.#draft = request ? withRequest(draft, request) : draft;
      return this.settle();
    }
    if (draft !== null) await this.settle();
    if (request === null || of === null || this.#requests.size >= MAX_REQUESTS)
      return countOf(this.#tally.skipped, "request");
    this.#requests.set(of, request);
    // The other way round: the response may name the request.
    const own = record.field("warc-record-id");
    if (own !== null) this.#requests.set(own, request);
  }

  async #capture(record: WarcRecordRead, type: "response" | "resource" | "revisit"): Promise<void> {
    const { skipped, bad } = this.#tally;
    const target = (record.field("warc-target-uri") ?? "").replace(/^<(.*)>$/, "$1");
    const url = parseUrl(target);
    const date_ms = Date.parse(record.field("warc-date") ?? "");
    if (Number.isNaN(date_ms) || target === "") return countOf(bad, "bad_record");
    if (url === null) return countOf(skipped, "not_http");
    const block = await wholeOf(record, MAX_BODY_BYTES + MAX_HEAD_BYTES);
    if (block === null) return countOf(skipped, "too_large");
    const place = { url: url.href, date: new Date(date_ms).toISOString(), record };
    const draft =
      type === "resource"
        ? this.#ofResource(place, block)
        : type === "revisit"
          ? await this.#ofRevisit(place, block)
          : this.#ofResponse(place, block);
    if (draft === null) return;
    const id = record.field("warc-concurrent-to");
    const request =
      this.#requests.get(draft.record_id ?? "") ?? (id === null ? undefined : this.#requests.get(id));
    this.#draft = request ? withRequest(draft, request) : draft;
    if (request) await this.settle();
  }

  #ofResource(place: Place, body: Buffer): Draft {
    const type = place.record.field("content-type");
    const fields: [string, string][] = type === null ? [] : [["Content-Type", type]];
    const isDamaged = place.record.isShort() || this.#hasOtherDigest(place.record, body, [body]);
    return draftOf(place, { status: 200, reason: "OK", fields }, body, isDamaged);
  }

  /** Writers take the payload's digest of the bytes as they were sent, without chunks, or without any coding. */
  #hasOtherDigest(record: WarcRecordRead, block: Buffer, payloads: readonly Buffer[]): boolean {
    const isOther =
      isContradicted(record.field("warc-block-digest"), [block]) ||
      isContradicted(record.field("warc-payload-digest"), payloads);
    if (isOther) countOf(this.#tally.bad, "digest_mismatch");
    return isOther;
  }

  #ofResponse(place: Place, block: Buffer): Draft | null {
    const { record } = place;
    const head = httpHead(block);
    const status = head && statusOf(head.start);
    if (!head || !status) {
      countOf(this.#tally.bad, "no_http_response");
      return null;
    }
    const decoded = decodedBody(head.fields, block.subarray(head.end), MAX_BODY_BYTES);
    if (decoded === null) {
      countOf(this.#tally.skipped, "too_large");
      return null;
    }
    if (decoded.broken) countOf(this.#tally.bad, "broken_coding");
    const isCut = decoded.broken || record.isShort() || record.field("warc-truncated") !== null;
    const payloads = [block.subarray(head.end), decoded.unchunked, decoded.body];
    const isDamaged = isCut || this.#hasOtherDigest(record, block, payloads);
    return draftOf(place, { ...status, fields: head.fields }, decoded.body, isDamaged);
  }

  async #ofRevisit(place: Place, block: Buffer): Promise<Draft | null> {
    const { record } = place;
    if (/server-not-modified\s*$/.test(record.field("warc-profile") ?? "")) {
      countOf(this.#tally.skipped, "revisit_not_modified");
      return null;
    }
    const original = await this.#original(record);
    if (original === null) {
      countOf(this.#tally.skipped, "revisit_without_original");
      return null;
    }
    const head = httpHead(block);
    const status = head && statusOf(head.start);
    const { payload, fields } = original;
    const answered = status ? { ...status, fields: head!.fields } : { status: 200, reason: "OK", fields };
    const draft = draftOf(place, answered, null, false);
    const response = { ...draft.exchange.response, body: payload };
    return { ...draft, exchange: { ...draft.exchange, response } };
  }

  /** By its digest, else by the address and the time of the record that it names. */
  async #original(
    record: WarcRecordRead,
  ): Promise<{ readonly payload: StoredPayload; readonly fields: [string, string][] } | null> {
    const { documents } = this.#deps;
    const digest = record.field("warc-payload-digest");
    const payload = digest && (await ARCHIVE_PAYLOADS.get(documents, importKey(this.#owner, digest)));
    if (payload) return { payload, fields: [] };
    const url = parseUrl((record.field("warc-refers-to-target-uri") ?? "").replace(/^<(.*)>$/, "$1"));
    const date_ms = Date.parse(record.field("warc-refers-to-date") ?? "");
    if (url === null || Number.isNaN(date_ms)) return null;
    for await (const capture of storedCaptures(documents, this.#owner, url.href, "exact")) {
      if (Date.parse(capture.date) !== date_ms || !capture.digest.startsWith("sha256:")) continue;
      const fields: [string, string][] = [["Content-Type", capture.mime]];
      return { payload: { sha256: capture.digest.slice(7), bytes: capture.bytes }, fields };
    }
    return null;
  }

  async #store({ exchange, digest, body, is_damaged }: Draft): Promise<void> {
    const { blobs, documents, refs, index } = this.#deps;
    const { id, project, is_shared } = this.#stored;
    const { response } = exchange;
    const key = importKey(this.#owner, id);
    const archived: ArchivedFetch = { version: 1, url: exchange.url, exchanges: [exchange], attempts: [] };
    const content = Buffer.from(JSON.stringify(archived));
    const archive_sha256 = sha256Of(content);
    const payload = response.body && "sha256" in response.body ? response.body : null;
    await refs.retain([archive_sha256, payload?.sha256 ?? null], capturesHolder(key), Infinity);
    await blobs.put(content);
    if (body !== null && body.length > 0) await blobs.put(body);
    const capture: StoredCapture & { readonly import_id: string } = {
      url: exchange.url,
      date: exchange.started_at,
      status: response.status,
      mime: mimeOf(response.fields),
      digest: payload === null ? "-" : `sha256:${payload.sha256}`,
      bytes: payload?.bytes ?? 0,
      archive_sha256,
      at: 0,
      import_id: id,
      ...(is_damaged && { is_damaged: true as const }),
    };
    if (payload !== null && digest !== null && !is_damaged)
      await ARCHIVE_PAYLOADS.put(documents, importKey(this.#owner, digest), payload, 0, {
        tag: `import ${key}`,
      });
    if (!(await storeImported(documents, this.#owner, capture))) {
      this.#tally.known++;
      return;
    }
    this.#tally.captures++;
    this.#tally.bytes += payload?.bytes ?? 0;
    if (body === null || body.length === 0 || response.status !== 200 || is_damaged) return;
    const { url, started_at: date } = exchange;
    if (await index({ url, project, is_shared, date, fields: response.fields, body })) this.#tally.indexed++;
  }
}

interface Place {
  readonly url: string;
  readonly date: string;
  readonly record: WarcRecordRead;
}

function draftOf(
  { url, date, record }: Place,
  answered: Pick<KeptExchange["response"], "status" | "reason" | "fields">,
  body: Buffer | null,
  is_damaged: boolean,
): Draft {
  const protocol = /\bh2\b/.test(record.field("warc-protocol") ?? "") ? "h2" : "http/1.1";
  const kept =
    body === null || body.length === 0 ? { base64: "" } : { sha256: sha256Of(body), bytes: body.length };
  return {
    record_id: record.field("warc-record-id"),
    digest: record.field("warc-payload-digest"),
    body,
    is_damaged,
    exchange: {
      url,
      started_at: date,
      address: record.field("warc-ip-address"),
      protocol,
      tls: null,
      request: { ...NO_REQUEST, omitted: [], omitted_bytes: 0 },
      response: { ...answered, body: kept, truncated: is_damaged ? "unspecified" : null },
    },
  };
}

const withRequest = (draft: Draft, request: Request): Draft => ({
  ...draft,
  exchange: { ...draft.exchange, request: { ...draft.exchange.request, ...request } },
});

/** Null: it has more bytes. */
async function wholeOf({ block, bytes }: WarcRecordRead, max_bytes: number): Promise<Buffer | null> {
  if (bytes > max_bytes) return null;
  return Buffer.concat(await Array.fromAsync(block));
}
