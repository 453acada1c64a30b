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
}

/** The credentials and counters of one user of the proxy: one page of a browser. */
export interface ProxySession {
  /** For Basic authentication (RFC 9110 §11.7). */
  readonly username: string;
  readonly password: string;
  readonly received_bytes: () => number;
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
  readonly openSession: (limits?: Partial<SessionLimits>) => ProxySession;
  readonly close: () => Promise<void>;
}
