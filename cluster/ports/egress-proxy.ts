/**
 * SSRF protection for programs with sockets of their own (a browser): a proxy on loopback that connects only where
 * Egress would. Each user needs a session, so other programs on the machine cannot use it.
 */
import type { EgressProblem } from "./egress.ts";

export interface SessionLimits {
  /** Maximum concurrent connections; one more is refused. Default 128. */
  readonly connections: number;
  /**
   * Maximum bytes received over all connections of the session; then they are closed and new ones refused. Default 256
   * MiB.
   */
  readonly received_bytes: number;
  /** Maximum requests and tunnels of the session; one more ends it. Default 4,000. */
  readonly requests: number;
}

export interface SessionOptions extends Partial<SessionLimits> {
  /** As in ExchangeRequest. Default: what the operator allows to the service itself. */
  readonly networks?: readonly string[] | undefined;
  /** Called once, when the session is ended by a limit. */
  readonly onLimit?: (limit: "requests" | "received_bytes") => void;
}

/** The credentials and counters of one user of the proxy: one page of a browser. */
export interface ProxySession {
  /** For Basic authentication (RFC 9110 §11.7). */
  readonly username: string;
  readonly password: string;
  readonly received_bytes: () => number;
  /** Requests and tunnels so far. */
  readonly requests: () => number;
  /**
   * The document that the user loads next: allowed private networks are reached by requests to its origin only, and by none
   * once a document came from a public address. A name keeps its first addresses for the whole session.
   */
  readonly enterDocument: (url: string) => void;
  /** Where the documents of the session came from: `public` once one did. `none`: no document has been connected to. */
  readonly documentNetwork: () => "none" | "public" | "private";
  /**
   * Why the last connection to a host (as in URL.host) failed or brought no answer; null when it succeeded. The client
   * of a proxy cannot see the reason.
   */
  readonly failureFor: (host: string) => EgressProblem | null;
  /** Closes all connections and invalidates the credentials. */
  readonly close: () => void;
}

export interface EgressProxy {
  /** The proxy's address, for the browser's command line. */
  readonly url: string;
  /**
   * The only key (SHA-256 of its SubjectPublicKeyInfo, base64) whose certificate the user has to accept although no authority
   * signed it: for origins of an authority that the operator trusts. Null: there is none.
   */
  readonly spki_sha256: string | null;
  readonly openSession: (options?: SessionOptions) => ProxySession;
  readonly close: () => Promise<void>;
}
