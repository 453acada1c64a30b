/** Why an exchange with the outside world did not come about or did not finish. */
export type EgressProblem =
  | "invalid_url"
  | "blocked_destination"
  | "dns_nxdomain"
  | "dns_error"
  | "tls_error"
  | "network_refused"
  | "network_reset"
  | "network_unreachable"
  /** What came was no HTTP: broken framing, too many or too large header fields. */
  | "network_protocol"
  /** The content coding is broken or unknown. */
  | "network_encoding"
  /** No connection to the proxy, or none from it to the destination. */
  | "proxy_unreachable"
  /** The proxy will not serve this: credentials, its own rules. */
  | "proxy_refused"
  | "timeout"
  | "aborted";

/** Thrown while a body is read, when the exchange breaks after its head. */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly problem: EgressProblem;

  constructor(problem: EgressProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

export interface ExchangeRequest {
  readonly url: string;
  readonly method: "GET" | "HEAD" | "POST";
  /** In the order they are sent; names as written. Host, Connection and Accept-Encoding are the adapter's. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: Buffer;
  /** Ends the exchange at once, wherever it is. */
  readonly signal: AbortSignal;
  /**
   * Asked each time at the moment before the request is written to a connection that stands, and once more when a kept
   * connection had died and a fresh one takes its place. False: nothing is sent, and the exchange failed as `aborted`.
   */
  readonly beforeSend?: () => boolean;
  /** Told each time when the request has been written: it may have taken a busy machine a while to get so far. */
  readonly onSent?: () => void;
  /**
   * Through this forward proxy (http or https, credentials in the URL), which an operator configured: its endpoint may
   * be private. A URL that is an address is judged as ever; what a name leads to is for the proxy to know.
   */
  readonly via?: { readonly proxy_url: string };
  /** Name resolution, connection and TLS together. Default 15 s. */
  readonly connect_timeout_ms?: number;
  /** From the request sent to the last header byte. Default 60 s. */
  readonly headers_timeout_ms?: number;
  /** Silence between two pieces of the body. Default 60 s. */
  readonly idle_timeout_ms?: number;
}

export interface Timings {
  readonly dns_ms: number;
  readonly connect_ms: number;
  readonly tls_ms: number;
  readonly first_byte_ms: number;
}

export type Exchange = ExchangeResponse | ExchangeFailure;

export interface ExchangeResponse {
  readonly kind: "answered";
  readonly status: number;
  /** Names in lower case; repeated fields in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /**
   * Decoded from gzip, br, zstd and deflate (at most two codings) as it is read, never ahead of the reader by
   * more than a piece. Ends early when the reader stops; throws EgressError.
   */
  readonly body: AsyncIterable<Buffer>;
  /** Lets the connection go without reading the body. */
  readonly cancel: () => void;
  /** The address that was judged and connected to. */
  readonly address: string;
  readonly timings: Timings;
}

export interface ExchangeFailure {
  readonly kind: "failed";
  readonly problem: EgressProblem;
  /** Whether the other side had taken the connection: a time-out before that means nobody is there. */
  readonly connected?: boolean;
  readonly detail: string;
  readonly ms: number;
}

/**
 * The one way out (origins, robots.txt, archives, callbacks, hooks): the name is resolved, every address judged,
 * the judged address connected to, and looked at again on the socket. Redirects are not followed.
 */
export interface Egress {
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}
