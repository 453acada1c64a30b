/**
 * A connection to NATS, for the adapters of bus, leases and roster: how it is made, what is said when it cannot be,
 * and whether it stands at the moment. What is in the streams is theirs.
 *
 * An address is `nats://user:password@host:4222/name`, several hosts with commas between; the name sets clusters on one
 * NATS apart and is `trawl` when left out. What cannot be asked at once waits a little for the connection to come back
 * and then ends in Fault bus_unreachable, so nothing piles up in the client's memory.
 */
import { type JetStreamClient, jetstream, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type ConnectionOptions, type NatsConnection, TimeoutError } from "nats";
import { Fault } from "../../ports/fault.ts";
import type { Log } from "../../ports/log.ts";

export interface NatsLink {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  /** Sets this cluster apart from others on the same NATS. */
  readonly name: string;
  /** Servers that each keep a copy; 1 where there is one server. */
  readonly replicas: 1 | 3;
  /** Resolves when the connection stands; throws Fault bus_unreachable when it does not come back in time. */
  readonly connected: (within_ms?: number) => void | Promise<void>;
  /** Calls back when it was away and is back; in the order of registration, each awaited. */
  readonly onReconnect: (call: () => void | Promise<void>) => void;
  readonly close: () => Promise<void>;
}

/** What a server must be: older ones lose acknowledged messages in crashes (cluster.md, sections 2 and 11). */
const MIN_VERSION = [2, 12] as const;
/** One JetStream call; less than a lease's time. */
export const CALL_MS = 2_000;
const MAX_MANAGER_ATTEMPTS = 5;
/** How long a first connection may take. */
const CONNECT_MS = 5_000;
/** A server that comes back within it goes unnoticed. */
const RECONNECT_WAIT_MS = 2_000;
/** Calls that wait for the connection; the next one is refused at once. */
const MAX_WAITING = 1_000;
/** A link that is dead without saying so is noticed after two of these. */
const PING_MS = 5_000;
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
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || "4222"}`),
    name,
    options: {
      ...(login &&
        login.password !== "" && {
          user: decodeURIComponent(login.username),
          pass: decodeURIComponent(login.password),
        }),
      // A user without a password is a token.
      ...(login && login.password === "" && { token: decodeURIComponent(login.username) }),
      ...(urls.some(({ protocol }) => protocol === "tls:") && { tls: {} }),
    },
  };
}

export const unreachable = (what: string, cause: unknown): Fault =>
  new Fault("bus_unreachable", `Cannot ${what}: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  });

/** A server that is busy answers late; one without JetStream says so at once. */
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
    // Every request would carry a stack trace of its own: 10 µs each.
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
    replicas: nc.info?.cluster === undefined ? 1 : 3,
    connected: (within_ms = RECONNECT_WAIT_MS) => (is_connected ? undefined : untilConnected(within_ms)),
    onReconnect: (call) => void on_reconnect.push(call),
    async close() {
      // Draining sends what is still to be sent, but waits for ever for a server that is away.
      if (is_connected && !nc.isClosed()) await nc.drain().catch(() => nc.close());
      else await nc.close();
    },
  };
}
