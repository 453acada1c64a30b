/**
 * A connection to NATS for the adapters of bus, leases, node directory and role bus: connecting, reconnecting, and
 * the errors of both. What the streams and buckets contain is known to the adapters only.
 *
 * An address is `nats://user:password@host:4222/name`; several hosts are separated by commas. The name separates
 * clusters on one NATS; its default is `trawl`. Its query names files: `nkey` (a seed), `tls_ca`,
 * `tls_cert` and `tls_key`. A call without a connection waits for a short time and then throws
 * Fault bus_unreachable, so calls do not pile up in memory.
 */
import {
  JetStreamApiError,
  type JetStreamClient,
  jetstream,
  type JetStreamManager,
  jetstreamManager,
} from "@nats-io/jetstream";
import { readFileSync } from "node:fs";
import {
  connect,
  type ConnectionOptions,
  type NatsConnection,
  nkeyAuthenticator,
  NoRespondersError,
  RequestError,
  TimeoutError,
} from "nats";
import { Fault } from "../../ports/fault.ts";
import type { Log } from "../../ports/log.ts";

export interface NatsLink {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** The cluster's name, which separates it from others on the same NATS. */
  readonly name: string;
  /** Replicas of streams and buckets: 3 in a cluster of servers, 1 on a single server. */
  readonly replicas: 1 | 3;
  /** Resolves when connected. Throws Fault bus_unreachable when the connection does not come back in time. */
  readonly connected: (within_ms?: number) => void | Promise<void>;
  /** Calls back after a reconnect, in the order of registration; each call is awaited. */
  readonly onReconnect: (call: () => void | Promise<void>) => void;
  /** How a call to JetStream ended; null: it was answered. In a cluster, a server that answers nothing is left for another one. */
  readonly noteCall: (problem: unknown) => void;
  readonly close: () => Promise<void>;
}

/** The oldest supported version of NATS: older ones lose acknowledged messages when they crash. */
const MIN_VERSION = [2, 12] as const;
/** Time-out of one JetStream call; less than a lease lasts. */
export const CALL_MS = 2_000;
const MAX_MANAGER_ATTEMPTS = 5;
/** Time-out of the first connection. */
const CONNECT_MS = 5_000;
/** How long a call waits for a reconnect before it fails. */
const RECONNECT_WAIT_MS = 2_000;
/** Maximum number of calls that wait for a reconnect; one more fails at once. */
const MAX_WAITING = 1_000;
/** Interval of pings. A dead link is noticed after two of them. */
const PING_MS = 5_000;
/**
 * A server of a cluster of which JetStream has answered nothing for so long may be cut off from the others. An election, during
 * which none answers, is over sooner.
 */
const LEAVE_AFTER_MS = 4_000;
/** How often a connection of a cluster looks whether JetStream answers, beside the calls that are made. */
const LOOK_MS = 2_000;
const NAME = /^[A-Za-z0-9_-]{1,40}$/;

interface Address {
  readonly servers: readonly string[];
  readonly name: string;
  readonly options: ConnectionOptions;
}

function parseAddress(address: string): Address {
  const urls = address.split(",").map((part) => new URL(part.trim()));
  const paths = [...new Set(urls.map(({ pathname }) => pathname.slice(1)).filter((path) => path !== ""))];
  const name = paths[0] ?? "trawl";
  if (paths.length > 1 || !NAME.test(name))
    throw new TypeError(
      `A cluster's name in TRAWL_BUS is one of letters, digits, "_" and "-", not "${paths.join('", "')}"`,
    );
  const login = urls.find(({ username }) => username !== "");
  const fileOf = (option: string): string | undefined =>
    urls.map(({ searchParams }) => searchParams.get(option)).find((path) => path !== null) ?? undefined;
  const nkey = fileOf("nkey");
  const [caFile, certFile, keyFile] = [fileOf("tls_ca"), fileOf("tls_cert"), fileOf("tls_key")];
  const hasTls = urls.some(({ protocol }) => protocol === "tls:") || (caFile ?? certFile) !== undefined;
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || "4222"}`),
    name,
    options: {
      ...(login &&
        login.password !== "" && {
          user: decodeURIComponent(login.username),
          pass: decodeURIComponent(login.password),
        }),
      // A user name without a password is a token.
      ...(login && login.password === "" && { token: decodeURIComponent(login.username) }),
      ...(nkey !== undefined && { authenticator: nkeyAuthenticator(seedIn(nkey)) }),
      ...(hasTls && {
        tls: {
          ...(caFile !== undefined && { caFile }),
          ...(certFile !== undefined && { certFile }),
          ...(keyFile !== undefined && { keyFile }),
        },
      }),
    },
  };
}

/** A seed stands alone in its file, or as one line of it. */
const seedIn = (path: string): Buffer =>
  Buffer.from(/^SU[A-Z2-7]{56}$/m.exec(readFileSync(path, "latin1"))?.[0] ?? "");

export const unreachable = (what: string, cause: unknown): Fault =>
  new Fault("bus_unreachable", `Cannot ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  });

/** Whether a request failed because its subject has no subscriber. */
export const hasNoResponder = (problem: unknown): boolean =>
  problem instanceof NoRespondersError || (problem instanceof RequestError && problem.isNoResponders());

/** Calls when connected; every error but a Fault becomes Fault bus_unreachable. */
export async function orUnreachable<T>(
  { connected }: Pick<NatsLink, "connected">,
  what: string,
  call: () => Promise<T>,
  connect_within_ms?: number,
): Promise<T> {
  try {
    await connected(connect_within_ms);
    return await call();
  } catch (problem) {
    throw problem instanceof Fault ? problem : unreachable(what, problem);
  }
}

/** "JetStream system temporarily unavailable": the server has no leader to turn to. */
const NO_LEADER = 10_008;

/** An error of JetStream is an answer, unless it says that there is none. */
const isAnswer = (problem: unknown): boolean =>
  problem === null ||
  (problem instanceof JetStreamApiError &&
    problem.code !== NO_LEADER &&
    problem.name !== "JetStreamNotEnabled");

/** Leaves a server of a cluster that has answered nothing for LEAVE_AFTER_MS: its clients stay connected when it is cut off. */
function leavesSilent(nc: NatsConnection, jsm: JetStreamManager, log: Log | undefined) {
  let silent_since_ms: number | null = null;
  let isLooking = false;

  function noteCall(problem: unknown): void {
    const now_ms = performance.now();
    if (isAnswer(problem) || nc.isClosed()) silent_since_ms = null;
    else silent_since_ms ??= now_ms;
    if (silent_since_ms === null || now_ms - silent_since_ms < LEAVE_AFTER_MS) return;
    silent_since_ms = null;
    log?.warn("A server of NATS does not answer, and another one is tried", { server: nc.getServer() });
    // It fails where the connection is being made anew already.
    void nc.reconnect().catch(() => {});
  }

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    await jsm.getAccountInfo().then(() => noteCall(null), noteCall);
    isLooking = false;
  }

  const timer = setInterval(() => void look(), LOOK_MS).unref();
  return { noteCall, stop: () => clearInterval(timer) };
}

/** Only time-outs are retried: a busy server answers late, a server without JetStream refuses at once. */
async function managerOf(nc: NatsConnection): Promise<JetStreamManager> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await jetstreamManager(nc, { timeout: CALL_MS });
    } catch (problem) {
      if (attempt === MAX_MANAGER_ATTEMPTS || !(problem instanceof TimeoutError)) throw problem;
    }
  }
}

export async function linkNats(
  address: string,
  { purpose, log }: { readonly purpose: string; readonly log?: Log },
): Promise<NatsLink> {
  const { servers, name, options } = parseAddress(address);
  const where = servers.join(", ");
  const nc = await connect({
    ...options,
    servers: [...servers],
    name: `trawl ${name} ${purpose}`,
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    reconnectJitter: 100,
    pingInterval: PING_MS,
    // Otherwise each request records a stack trace, which costs 10 µs.
    noAsyncTraces: true,
  }).catch((problem: unknown) => {
    throw unreachable(`reach NATS at ${where}`, problem);
  });

  const version = nc.info?.version ?? "0";
  const [major, minor] = version.split(".").map(Number) as [number, number];
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    await nc.close();
    throw new Error(`Cannot use NATS ${version} at ${where}: it must be ${MIN_VERSION.join(".")} or newer`);
  }
  const jsm = await managerOf(nc).catch(async (problem: unknown) => {
    await nc.close();
    throw unreachable(`use NATS at ${where}, whose JetStream must be on (nats-server -js)`, problem);
  });

  const isCluster = nc.info?.cluster !== undefined;
  const silence = isCluster ? leavesSilent(nc, jsm, log) : null;
  let is_connected = true;
  let waiting: (() => void)[] = [];
  const on_reconnect: (() => void | Promise<void>)[] = [];

  async function watch(): Promise<void> {
    for await (const { type } of nc.status()) {
      if (type === "disconnect") {
        if (is_connected) log?.warn("NATS is away", { purpose });
        is_connected = false;
      } else if (type === "reconnect") {
        is_connected = true;
        log?.info("NATS is back", { purpose });
        for (const resolve of waiting.splice(0)) resolve();
        for (const call of on_reconnect) await call();
      }
    }
    is_connected = false;
  }
  void watch();

  async function untilConnected(within_ms: number): Promise<void> {
    if (nc.isClosed() || waiting.length >= MAX_WAITING)
      throw new Fault("bus_unreachable", `Cannot reach NATS at ${where}: not connected`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting = waiting.filter((waiter) => waiter !== resolve);
      reject(new Fault("bus_unreachable", `Cannot reach NATS at ${where}: not connected`));
    }, within_ms);
    waiting.push(resolve);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    nc,
    jsm,
    js: jetstream(nc, { timeout: CALL_MS }),
    name,
    replicas: isCluster ? 3 : 1,
    connected: (within_ms = RECONNECT_WAIT_MS) => (is_connected ? undefined : untilConnected(within_ms)),
    onReconnect: (call) => void on_reconnect.push(call),
    noteCall: (problem) => silence?.noteCall(problem),
    async close() {
      silence?.stop();
      // drain() flushes, but it would wait for ever for a server that is away.
      if (is_connected && !nc.isClosed()) await nc.drain().catch(() => nc.close());
      else await nc.close();
    },
  };
}
