/**
 * A server of MongoDB, or a set of them: commands with a time-out, whose failure is the Fault documents_unreachable, and a client that is
 * made again when it has heard nothing for a while.
 */
import { type Collection, type Db, MongoClient, type MongoClientOptions, MongoServerError } from "mongodb";
import { Fault } from "../../ports/fault.ts";
import type { StoredDocument } from "./stored.mongo.ts";

/** Time-out of one command. */
const COMMAND_MS = 5_000;
/**
 * How long the driver looks for a server or a free connection. A server that comes back within this time causes no
 * fault.
 */
const CONNECT_MS = 3_000;
/**
 * After this time without any answer the client is recreated: after some restarts of a server the monitor of driver 7.9
 * stops for ever and reports no server.
 */
const RECREATE_CLIENT_MS = 10_000;
/** Options in the operator's address take precedence. */
const DEFAULTS: MongoClientOptions = {
  appName: "trawl",
  // Only replica sets support it, and then the address says so.
  retryWrites: false,
  maxPoolSize: 32,
  connectTimeoutMS: CONNECT_MS,
  serverSelectionTimeoutMS: CONNECT_MS,
  waitQueueTimeoutMS: CONNECT_MS,
  socketTimeoutMS: COMMAND_MS,
};
const MAJORITY = { w: "majority", journal: true } as const;
const ONE_SERVER = { w: 1 } as const;

function orTimeout<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`There was no answer within ${COMMAND_MS / 1_000} s`)),
      COMMAND_MS,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A refused write is an answer, too. */
const isAnswer = (problem: unknown): boolean => problem instanceof MongoServerError;

/** A secondary may be behind: an actor would start from an old state, and its every put be refused. */
function assertReadsPrimary(address: string): void {
  for (const [name, value] of new URLSearchParams(address.split("?")[1]))
    if (name.toLowerCase() === "readpreference" && value.toLowerCase() !== "primary")
      throw new TypeError(
        `Cannot use the address of MongoDB: readPreference is "${value}", and only "primary" reads what was stored last`,
      );
}

function connect(address: string): MongoClient {
  assertReadsPrimary(address);
  const given = new Set(
    [...new URLSearchParams(address.split("?")[1]).keys()].map((name) => name.toLowerCase()),
  );
  const defaults = Object.entries(DEFAULTS).filter(([name]) => !given.has(name.toLowerCase()));
  try {
    return new MongoClient(address, Object.fromEntries(defaults));
  } catch (problem) {
    // The driver's message quotes the address with its password.
    const message = (problem as Error).message.replaceAll(address, "…");
    // oxlint-disable-next-line preserve-caught-error
    throw new TypeError(`Cannot use the address of MongoDB: ${message}`);
  }
}

export interface MongoServer {
  readonly database: () => Db;
  readonly collectionOf: (name: string) => Collection<StoredDocument>;
  /** `majority` where writes wait for a majority: nothing is read that an election or a power cut may still take. */
  readonly readConcernOf: (name: string) => { readonly level: "local" | "majority" };
  readonly writeConcernOf: (name: string) => typeof MAJORITY | typeof ONE_SERVER;
  /** A command's answer within its time-out, or the driver's error. */
  readonly withTimeout: <T>(work: Promise<T>) => Promise<T>;
  /** Runs a command, with errors as faults. */
  readonly reach: <T>(what: string, command: () => Promise<T>) => Promise<T>;
  readonly fault: (what: string, cause?: unknown) => Fault;
  /** Throws the Fault of a closed store. */
  readonly assertOpen: (what: string) => void;
  /** From now on every command is refused; the client closes with `close`. */
  readonly shut: () => void;
  readonly close: () => Promise<void>;
}

/** Throws TypeError when the address is invalid. Connects with the first command. `rebuildable`: collections that one server is enough for. */
export function mongoServer(address: string, rebuildable: readonly string[]): MongoServer {
  let client = connect(address);
  const name_of_database = /^[^:]+:\/\/[^/]+\/([^/?]+)/.exec(address)?.[1] ?? "trawl";
  let database = client.db(name_of_database);
  const location = `${client.options.srvHost ?? client.options.hosts.join(",")}/${database.databaseName}`;
  let closed = false;
  /** Since when no command was answered; null: the last one was answered. */
  let silent_since_ms: number | null = null;

  async function withTimeout<T>(work: Promise<T>): Promise<T> {
    try {
      const reply = await orTimeout(work);
      silent_since_ms = null;
      return reply;
    } catch (problem) {
      if (isAnswer(problem)) silent_since_ms = null;
      else onSilence();
      throw problem;
    }
  }

  function onSilence(): void {
    const now_ms = performance.now();
    silent_since_ms ??= now_ms;
    if (closed || now_ms - silent_since_ms < RECREATE_CLIENT_MS) return;
    silent_since_ms = now_ms;
    const previous = client;
    client = connect(address);
    database = client.db(name_of_database);
    void previous.close().catch(() => {});
  }

  const fault = (what: string, cause?: unknown): Fault =>
    new Fault(
      "documents_unreachable",
      `Cannot ${what} in "${location}"`,
      cause === undefined ? {} : { cause },
    );

  function assertOpen(what: string): void {
    if (closed) throw fault(what, new Error("The store is closed"));
  }

  async function reach<T>(what: string, command: () => Promise<T>): Promise<T> {
    assertOpen(what);
    try {
      return await withTimeout(command());
    } catch (cause) {
      throw fault(what, cause);
    }
  }

  const readConcernOf = (name: string) =>
    ({ level: rebuildable.includes(name) ? "local" : "majority" }) as const;
  return {
    database: () => database,
    collectionOf: (name) => database.collection(name, { readConcern: readConcernOf(name) }),
    readConcernOf,
    writeConcernOf: (name) => (rebuildable.includes(name) ? ONE_SERVER : MAJORITY),
    withTimeout,
    reach,
    fault,
    assertOpen,
    shut() {
      closed = true;
    },
    close: () => client.close(),
  };
}
