/**
 * The way out of what brings its own sockets (a browser): a proxy on this machine that lets through what egress would
 * and nothing else. Whoever uses it needs a pass, so nobody else on the machine can.
 */
import type { EgressProblem } from "./egress.ts";

export interface SessionLimits {
  /** Connections at once; one more is refused. Default 128. */
  readonly connections: number;
  /** What all connections of the pass may bring in; then they are cut and no more are made. Default 256 MiB. */
  readonly received_bytes: number;
}

/** One user of the guard, for as long as it has something to do: one page of a browser. */
export interface ProxySession {
  /** What the proxy asks for, by Basic authentication (RFC 9110, 11.7). */
  readonly username: string;
  readonly password: string;
  readonly received_bytes: () => number;
  /**
   * Why the last connection to a host (as URL.host has it) did not come about or brought no answer, null when it did:
   * to who asks through a proxy, every reason looks the same.
   */
  readonly failureFor: (host: string) => EgressProblem | null;
  /** Cuts what is open; the pass is worth nothing from then on. */
  readonly close: () => void;
}

export interface EgressProxy {
  /** What a browser is given as its proxy. */
  readonly url: string;
  readonly openSession: (limits?: Partial<SessionLimits>) => ProxySession;
  readonly close: () => Promise<void>;
}
