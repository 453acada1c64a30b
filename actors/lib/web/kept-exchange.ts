/** An exchange as it is kept for an archive, made of what egress says of it. What the caller gave of its own is left out. */
import type { ExchangeResponse, WireField } from "../../../cluster/ports/egress.ts";
import { sha256Of } from "../../../cluster/ports/blobs.ts";
import type { KeptExchange, Truncation } from "../../../schemas/archives.ts";
import { firstBytes } from "../first-bytes.ts";

export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly sent_ms: number;
  /** Names of fields whose values are the caller's own. */
  readonly own_fields: ReadonlySet<string>;
  readonly own_bytes: number;
  /** The cookies are those of the caller's session, which are sealed where they are stored. */
  readonly has_session: boolean;
  readonly is_proxied: boolean;
}

/** More of a redirect's body is cut off: people see none of it. */
const MAX_REDIRECT_BYTES = 4_096;

/** Null: this egress cannot say how the exchange looked. */
function keptExchange(
  { url, method, sent_ms, own_fields, own_bytes, has_session, is_proxied }: SentRequest,
  { status, address, wire }: ExchangeResponse,
): KeptExchange | null {
  const heads = wire?.();
  if (!heads) return null;
  return {
    url,
    started_at: new Date(sent_ms).toISOString(),
    address: is_proxied ? null : address,
    protocol: heads.protocol,
    tls: heads.tls,
    request: {
      method,
      ...requestFields(heads.request.map(pairOf), own_fields),
      omitted_bytes: own_bytes,
    },
    response: {
      status,
      reason: heads.reason,
      ...responseFields(heads.response.map(pairOf), has_session),
      body: null,
      truncated: null,
    },
  };
}

/** In lower case. */
export const ownFieldNames = (headers: readonly WireField[], has_cookies: boolean): ReadonlySet<string> =>
  new Set([
    "authorization",
    ...headers.map(([name]) => name.toLowerCase()),
    ...(has_cookies ? ["cookie"] : []),
  ]);

/** The fields of a request without the caller's own, which are told by name. */
export function requestFields(
  fields: readonly [string, string][],
  own_fields: ReadonlySet<string>,
): Pick<KeptExchange["request"], "fields" | "omitted"> {
  const isOwn = ([name]: WireField): boolean => own_fields.has(name.toLowerCase());
  return {
    fields: fields.filter((field) => !isOwn(field)),
    omitted: fields.filter(isOwn).map(([name]) => name),
  };
}

export const setsCookie = (name: string): boolean => /^set-cookie2?$/i.test(name);

/** The fields of a response; of a session without the cookies that the site sets, which are told by name. */
export function responseFields(
  fields: readonly [string, string][],
  has_session: boolean,
): Pick<KeptExchange["response"], "fields" | "omitted"> {
  const isOfSession = ([name]: WireField): boolean => has_session && setsCookie(name);
  const omitted = fields.filter(isOfSession).map(([name]) => name);
  return {
    fields: fields.filter((field) => !isOfSession(field)),
    ...(omitted.length > 0 && { omitted }),
  };
}

const pairOf = ([name, value]: WireField): [string, string] => [name, value];

/** With the whole body, which is stored under its digest. */
export const withBody = (exchange: KeptExchange, body: Buffer): KeptExchange => ({
  ...exchange,
  response: {
    ...exchange.response,
    body: body.length === 0 ? { base64: "" } : { sha256: sha256Of(body), bytes: body.length },
    truncated: null,
  },
});

/** With the beginning of the body, in the record itself. */
export const withInlineBody = (exchange: KeptExchange, body: Buffer, max_bytes: number): KeptExchange => ({
  ...exchange,
  response: {
    ...exchange.response,
    body: { base64: body.toString("base64", 0, Math.min(body.length, max_bytes)) },
    truncated: body.length > max_bytes ? "length" : exchange.response.truncated,
  },
});

/** Its body was not kept, for the reason of a transport. */
export const cutShort = (exchange: KeptExchange, reason: string): KeptExchange => ({
  ...exchange,
  response: { ...exchange.response, truncated: TRUNCATED_BY[reason] ?? "disconnect" },
});

const TRUNCATED_BY: Readonly<Record<string, Truncation>> = {
  too_large: "length",
  no_room: "length",
  pdf_download_timeout: "time",
  timeout: "time",
  network_encoding: "unspecified",
};

/** The exchanges of one route, in their order. */
export class ExchangeLog {
  readonly #kept: KeptExchange[] = [];
  #open: KeptExchange | null = null;

  begin(sent: SentRequest, response: ExchangeResponse): void {
    this.#open = keptExchange(sent, response);
  }

  /** The exchange is over. Without one that has begun nothing happens. */
  end(finish: (exchange: KeptExchange) => KeptExchange): void {
    if (this.#open) this.#kept.push(finish(this.#open));
    this.#open = null;
  }

  /** The exchange is over, and few bytes of its body are kept. */
  async endWithFewBytes({ body }: ExchangeResponse): Promise<void> {
    if (this.#open === null) return;
    // A further byte shows that the body goes on.
    const start = await firstBytes(body, MAX_REDIRECT_BYTES + 1);
    this.end((exchange) => withInlineBody(exchange, start, MAX_REDIRECT_BYTES));
  }

  get kept(): readonly KeptExchange[] {
    return this.#kept;
  }
}
