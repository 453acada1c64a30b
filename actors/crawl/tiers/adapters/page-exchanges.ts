/**
 * Exchanges of a page in a browser, for an archive: documents of the main frame and everything that its frames load, as the browser
 * pauses each response before it goes on to the page. Bodies are stored at once, one after another, within limits; the content
 * coding is off. Frames of other sites are other targets of the browser, of which nothing is heard.
 */
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { KeptExchange } from "../../../../schemas/archives.ts";
import type { OwnRequest } from "../../../../schemas/own-request.ts";
import { ownFieldNames, requestFields, responseFields, withBody } from "../../../lib/web/kept-exchange.ts";
import type { HideSecrets } from "../../../lib/web/session-secrets.ts";
import type { PageLease } from "./browser-pool.ts";
import type { PausedRequest } from "./own-documents.ts";

/** A response as Fetch.requestPaused tells it. */
export interface PausedResponse extends PausedRequest {
  readonly requestId: string;
  /** Id in the network domain. */
  readonly networkId?: string;
  readonly responseStatusCode?: number;
  readonly responseStatusText?: string;
  readonly responseHeaders?: readonly { readonly name: string; readonly value: string }[];
}

export interface PageExchanges {
  /** Requests that the browser has to pause once more. */
  readonly patterns: readonly { readonly urlPattern: string; readonly requestStage: "Response" }[];
  readonly prepare: () => Promise<unknown>;
  /** Before a response goes on. False: it does not, as film and sound that are not kept. Rejects when the page has gone. */
  readonly keep: (paused: PausedResponse) => Promise<boolean>;
  /** A response whose body was read already. */
  readonly keepWhole: (paused: PausedResponse, body: Buffer) => void;
  /** All that was kept so far; what is still read is without its body. Rejects when a body could not be stored: Fault. */
  readonly finish: () => Promise<readonly KeptExchange[]>;
}

/** Maximum of a page. More are not kept. */
const MAX_EXCHANGES = 400;
const MAX_BODY_BYTES = 10 * 2 ** 20;
const MAX_PAGE_BYTES = 50 * 2 ** 20;
/** Their bodies may have no end, and the page waits for the body that is read. */
const ENDLESS_TYPES = new Set(["EventSource", "WebSocket", "Ping", "CSPViolationReport"]);
/** As well, where no length is told. */
const ENDLESS =
  /^(?:text\/event-stream|application\/(?:x-ndjson|grpc|octet-stream)|multipart\/|video\/|audio\/)/i;
const BODILESS: ReadonlySet<number> = new Set([204, 205, 301, 302, 303, 304, 307, 308]);

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function pageExchanges(
  cdp: PageLease["cdp"],
  {
    blobs,
    clock,
    own,
    has_session,
    hide,
  }: {
    readonly blobs: Pick<Blobs, "put">;
    readonly clock: Clock;
    readonly own: OwnRequest | null;
    /** The cookies are those of the caller's session. */
    readonly has_session: boolean;
    /** Hides secrets: they are not in the stored bodies. */
    readonly hide: HideSecrets;
  },
): PageExchanges {
  const kept: Mutable<KeptExchange>[] = [];
  const stored: Promise<unknown>[] = [];
  /** By the id of the network domain: the last hop of each request. */
  const sent = new Map<string, { readonly at_ms: number; fields: Readonly<Record<string, string>> | null }>();
  const byId = new Map<string, Mutable<KeptExchange>[]>();
  /** Heads of responses as the network gave them, for each hop in order: those that are paused lack `Set-Cookie` and the case. */
  const heads = new Map<string, { readonly status: number; readonly fields: [string, string][] }[]>();
  const own_fields = ownFieldNames(own?.headers ?? [], has_session || (own?.cookies.length ?? 0) > 0);
  let bytes = 0;
  let is_over = false;

  function begin(paused: PausedResponse): Mutable<KeptExchange> | null {
    const { request, networkId = "", responseStatusCode: status } = paused;
    if (is_over || status === undefined || kept.length >= MAX_EXCHANGES || !/^https?:/.test(request.url))
      return null;
    const known = sent.get(networkId);
    const fields = Object.entries(known?.fields ?? request.headers).filter(
      ([name]) => !/^:|^proxy-/i.test(name),
    );
    const exchange: Mutable<KeptExchange> = {
      url: request.url.replace(/#.*/s, ""),
      started_at: new Date(known?.at_ms ?? clock.now()).toISOString(),
      // The guard is between.
      address: null,
      protocol: "http/1.1",
      tls: null,
      request: {
        method: request.method,
        ...requestFields(fields, own_fields),
        omitted_bytes: request.method === "POST" ? (own?.body?.length ?? 0) : 0,
      },
      response: {
        status,
        reason: paused.responseStatusText ?? "",
        ...responseFields(
          (paused.responseHeaders ?? []).flatMap(({ name, value }) => fieldsNamed(name, value)),
          has_session,
        ),
        body: BODILESS.has(status) ? { base64: "" } : null,
        truncated: BODILESS.has(status) ? null : "time",
      },
    };
    kept.push(exchange);
    byId.set(networkId, [...(byId.get(networkId) ?? []), exchange]);
    return exchange;
  }

  function putBody(exchange: Mutable<KeptExchange>, whole: Buffer): void {
    const body = hide(whole);
    bytes += body.length;
    if (body.length > 0) stored.push(blobs.put(body));
    exchange.response = withBody(exchange, body).response;
  }

  return {
    patterns: [{ urlPattern: "*", requestStage: "Response" }],

    prepare() {
      cdp.on("Network.requestWillBeSent", ({ requestId, wallTime }) => {
        if (sent.size < 2 * MAX_EXCHANGES) sent.set(requestId, { at_ms: wallTime * 1_000, fields: null });
      });
      cdp.on("Network.requestWillBeSentExtraInfo", ({ requestId, headers }) => {
        const known = sent.get(requestId);
        if (known) known.fields = headers;
      });
      cdp.on("Network.responseReceived", ({ requestId, response: { protocol, securityDetails } }) => {
        const exchange = byId.get(requestId)?.at(-1);
        if (!exchange) return;
        exchange.protocol = protocol === "h2" ? "h2" : "http/1.1";
        exchange.tls = securityDetails
          ? {
              version: securityDetails.protocol.replace("TLS ", "TLSv"),
              cipher: securityDetails.cipher,
              certificate_sha256: null,
            }
          : null;
      });
      cdp.on("Network.responseReceivedExtraInfo", ({ requestId, statusCode, headers, headersText }) => {
        if (heads.size >= 2 * MAX_EXCHANGES && !heads.has(requestId)) return;
        const fields =
          headersText === undefined
            ? Object.entries(headers).flatMap(([name, value]) => fieldsNamed(name, value))
            : fieldsIn(headersText);
        heads.set(requestId, [...(heads.get(requestId) ?? []), { status: statusCode, fields }]);
      });
      return cdp.send("Network.enable", { maxTotalBufferSize: 1, maxResourceBufferSize: 1 });
    },

    async keep(paused) {
      const exchange = begin(paused);
      const isMedia = paused.resourceType === "Media";
      if (exchange === null) return !isMedia;
      if (exchange.response.body !== null) return true;
      const max_bytes = Math.min(MAX_BODY_BYTES, MAX_PAGE_BYTES - bytes);
      if (isEndless(paused) || declaredBytes(paused) > max_bytes) {
        exchange.response = { ...exchange.response, truncated: "length" };
        return !isMedia;
      }
      const { requestId } = paused;
      const { body, base64Encoded } = await cdp.send("Fetch.getResponseBody", { requestId });
      const content = Buffer.from(body, base64Encoded ? "base64" : "utf8");
      if (content.length > MAX_BODY_BYTES) exchange.response = { ...exchange.response, truncated: "length" };
      else if (!is_over) putBody(exchange, content);
      return true;
    },

    keepWhole(paused, body) {
      const exchange = begin(paused);
      if (exchange) putBody(exchange, body);
    },

    async finish() {
      is_over = true;
      await Promise.all(stored);
      for (const [id, hops] of byId)
        for (const [at, exchange] of hops.entries()) {
          const head = heads.get(id)?.[at];
          if (head?.status === exchange.response.status)
            exchange.response = { ...exchange.response, ...responseFields(head.fields, has_session) };
        }
      return kept;
    },
  };
}

/** Chromium joins fields of one name with line breaks. */
const fieldsNamed = (name: string, value: string): [string, string][] =>
  value.split("\n").map((each) => [name, each]);

/** Header fields of a head as text, behind its first line. */
const fieldsIn = (head: string): [string, string][] =>
  head
    .split(/\r?\n/)
    .slice(1)
    .flatMap((line): [string, string][] => {
      const colon = line.indexOf(":");
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1).trim()]];
    });

const fieldOf = ({ responseHeaders = [] }: PausedResponse, wanted: string): string =>
  responseHeaders.find(({ name }) => name.toLowerCase() === wanted)?.value.trim() ?? "";

const declaredBytes = (paused: PausedResponse): number => Number(fieldOf(paused, "content-length")) || 0;

const isEndless = (paused: PausedResponse): boolean =>
  ENDLESS_TYPES.has(paused.resourceType) ||
  (declaredBytes(paused) === 0 &&
    (paused.resourceType === "Media" || ENDLESS.test(fieldOf(paused, "content-type"))));
