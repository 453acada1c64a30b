/** Why an HTTP exchange failed before or after the response head. */
export type EgressProblem =
  | "invalid_url"
  | "blocked_destination"
  | "dns_nxdomain"
  | "dns_error"
  | "tls_error"
  | "network_refused"
  | "network_reset"
  | "network_unreachable"
  /** The response is not valid HTTP: broken framing, too many or too large header fields. */
  | "network_protocol"
  /** The content coding is invalid or unknown. */
  | "network_encoding"
  /** No connection to the forward proxy, or it does not speak HTTP. */
  | "proxy_unreachable"
  /** The forward proxy refuses this client: credentials, money or rate (401, 402, 407, 429). */
  | "proxy_refused"
  /** The forward proxy works and has no connection to this destination: it refuses it, cannot reach it, or says nothing. */
  | "proxy_connect_failed"
  | "timeout"
  | "aborted"
  /** This process has no file descriptor for a socket. An exchange that ends so throws a Fault. */
  | "no_descriptors";

/** Thrown while a body is read, when the exchange fails after its head. */
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
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  /** In the order they are sent, names as written. The adapter adds Host, Connection and Accept-Encoding. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: Buffer;
  /**
   * Networks (CIDRs) that are no public ones and that this request may reach. Default: what the operator allows to the service
   * itself. Empty: public addresses only.
   */
  readonly networks?: readonly string[];
  /** Aborts the exchange in any state. */
  readonly signal: AbortSignal;
  /**
   * Called immediately before the request is written to an established connection. It is called again when a kept-alive
   * connection turned out to be dead and a new one takes its place. False: nothing is sent, and the exchange fails as
   * `aborted`.
   */
  readonly beforeSend?: () => boolean;
  /** Called each time the request has been written, which on a busy machine is later than beforeSend. */
  readonly onSent?: () => void;
  /**
   * The forward proxy to use (http or https, credentials in the URL). An operator configured it, so its endpoint may be
   * private. The rule still checks a destination that is an IP address; a host name is resolved by the proxy.
   */
  readonly via?: { readonly proxy_url: string };
  /** For name resolution, connection and TLS together. Default 15 s. */
  readonly connect_timeout_ms?: number;
  /** From the sent request to the end of the response head. Default 60 s. */
  readonly headers_timeout_ms?: number;
  /** Maximum silence between two pieces of the body. Default 60 s. */
  readonly idle_timeout_ms?: number;
}

export interface Timings {
  readonly dns_ms: number;
  readonly connect_ms: number;
  readonly tls_ms: number;
  readonly first_byte_ms: number;
}

export type Exchange = ExchangeResponse | ExchangeFailure;

/** A field as it was sent: its name in its case, the bytes of its value as Latin-1. */
export type WireField = readonly [name: string, value: string];

/** Both heads of an exchange as they were sent, in order. HTTP/2 has names in lower case, and gathers fields of one name. */
export interface WireHeads {
  /** Fields that a forward proxy alone reads are left out. */
  readonly request: readonly WireField[];
  readonly response: readonly WireField[];
  /** The words behind the status; "" over HTTP/2. */
  readonly reason: string;
  readonly protocol: "http/1.1" | "h2";
  /** Null: the connection is not encrypted. */
  readonly tls: {
    readonly version: string;
    readonly cipher: string;
    readonly certificate_sha256: string;
  } | null;
}

export interface ExchangeResponse {
  readonly kind: "answered";
  readonly status: number;
  /** Names in lower case; the values of repeated fields in their order. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /**
   * Decoded from gzip, br, zstd and deflate (at most two codings) while it is read, at most one piece ahead of the
   * reader. Stopping early releases the connection. Throws EgressError.
   */
  readonly body: AsyncIterable<Buffer>;
  /** Releases the connection without reading the body. */
  readonly cancel: () => void;
  /** The checked IP address of the connection. */
  readonly address: string;
  /** The address is no public one: it was reached by an allowance. Default: it is. */
  readonly is_private?: boolean;
  readonly timings: Timings;
  /** For an archive, while the connection is open. Default: the adapter cannot say. */
  readonly wire?: () => WireHeads;
}

export interface ExchangeFailure {
  readonly kind: "failed";
  readonly problem: EgressProblem;
  /** Whether the server had accepted the connection: after a time-out, false means that no server listens there. */
  readonly connected?: boolean;
  readonly detail: string;
  readonly ms: number;
}

/**
 * The only way to send HTTP requests (origins, robots.txt, archives, callbacks), with SSRF protection: each name is
 * resolved once, every address is checked, the connection goes to a checked address, and the socket's remote address is
 * checked again. Redirects are not followed.
 */
export interface Egress {
  /** Throws Fault "no_descriptors": that is a failure of this node, and the origin was not asked. */
  exchange(request: ExchangeRequest): Promise<Exchange>;
  close(): Promise<void>;
}
