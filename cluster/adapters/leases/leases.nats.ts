/**
 * Leases in NATS key-value buckets. The bucket `own` has one key per partition, renewed by compare-and-set on its
 * revision and expired by the bucket's TTL. `members` lists the nodes that are present, `cfg` the settings that all
 * nodes share.
 *
 * It has a connection of its own, so that a renewal never waits behind a large envelope. An epoch combines the
 * generation of the claim and the revision at creation in one number, because the revisions of a new bucket start again
 * at 1. The time at which the server created the bucket `own` tells one bucket from the next.
 */
import { JetStreamApiError, StorageType } from "@nats-io/jetstream";
import { type KV, type KvEntry, Kvm } from "@nats-io/kv";
import { Fault } from "../../ports/fault.ts";
import {
  ASSIGNER,
  type ClaimTerms,
  CLOCK_READING_TTL_MS,
  EPOCHS_OF_GENERATION,
  type Lease,
  type Leases,
  type LeaseSurvey,
  type NamedLeases,
  presenceTtlMs,
} from "../../ports/leases.ts";
import { linkNats, type NatsLink, orUnreachable, unreachable } from "../bus/connection.nats.ts";
import { guardStreams } from "../bus/stream-guard.nats.ts";
import type { Log } from "../../ports/log.ts";
import { tableStore } from "./table.nats.ts";

/** Shorter, and partitions move whenever a node stalls. The limiter of the filing system must move within 4 s. */
const TTL_MS = 3_000;
/** Time-out of a renewal: twice the interval, and less than the safety margin before the lease expires. */
const RENEWAL_MS = 1_600;
/** A renewal that collides with an earlier renewal of the same lease is retried at the found revision. */
const MAX_RENEWAL_ATTEMPTS = 3;
const WRONG_SEQUENCE_CODES: ReadonlySet<number> = new Set([10_071, 10_164]);

/** Owners, present nodes, shared settings, what the nodes' clocks say, the table of assignments. */
export const BUCKETS = ["own", "members", "cfg", "clocks", "table"] as const;
type BucketName = (typeof BUCKETS)[number];

/** The stream in which NATS keeps a bucket. */
export const bucketStream = (cluster: string, bucket: BucketName): string => `KV_${cluster}-${bucket}`;

/** Where NATS keeps a setting that all nodes share. */
export const settingSubject = (cluster: string, name: string): string => `$KV.${cluster}-cfg.${name}`;

const isWrongRevision = (problem: unknown): boolean =>
  problem instanceof JetStreamApiError && WRONG_SEQUENCE_CODES.has(problem.code);

const unlessWrongRevision = <T>(call: Promise<T>): Promise<T | null> =>
  call.catch((problem: unknown) => {
    if (isWrongRevision(problem)) return null;
    throw problem;
  });

const anotherStore = (what: string): Fault =>
  new Fault("bus_unreachable", `Cannot ${what}: the lease store is another one`);

export async function natsLeases(
  address: string,
  { ttl_ms = TTL_MS, log }: { readonly ttl_ms?: number; readonly log?: Log } = {},
): Promise<Leases> {
  const link = await linkNats(address, { purpose: "leases", ...(log && { log }) });
  try {
    return await leasesOn(link, ttl_ms, log);
  } catch (problem) {
    await link.close();
    throw problem instanceof Fault ? problem : unreachable("open the leases", problem);
  }
}

const keyOf = (partition: number): string => `p${partition}`;
/** The value of a partition's key. */
const ownerValue = (node: string, { epoch }: Lease): string => `${node}/${epoch}`;

/** The leases of one bucket are claimed, renewed, watched, and created again when the bucket is lost. */
async function leasesOn(link: NatsLink, ttl_ms: number, log: Log | undefined): Promise<Leases> {
  const { js, jsm, name: cluster, replicas } = link;
  const buckets = new Kvm(js);
  const bucket = (name: BucketName, ttl?: number): Promise<KV> =>
    buckets.create(`${cluster}-${name}`, {
      history: 1,
      replicas,
      storage: StorageType.File,
      // Reads go to the leader: a follower may not have an acknowledged write yet.
      allow_direct: false,
      ...(ttl && { ttl }),
    });
  const openBuckets = () =>
    Promise.all([
      bucket("own", ttl_ms),
      bucket("members", presenceTtlMs(ttl_ms)),
      bucket("cfg"),
      bucket("clocks", CLOCK_READING_TTL_MS),
      bucket("table"),
    ]);
  const [own, members, settings, clocks, tables] = await openBuckets();
  const own_stream = bucketStream(cluster, "own");
  const own_prefix = `$KV.${cluster}-own.`;
  const members_stream = bucketStream(cluster, "members");
  const members_prefix = `$KV.${cluster}-members.`;
  const clocks_stream = bucketStream(cluster, "clocks");
  const clocks_prefix = `$KV.${cluster}-clocks.`;
  const names = BUCKETS.map((name) => bucketStream(cluster, name));
  /** Settings that this node has agreed on: stored again when the buckets were lost, for nodes that join later. */
  const agreements = new Map<string, string>();
  async function agree(name: string, value: string): Promise<string> {
    if ((await unlessWrongRevision(settings.create(name, value))) !== null) return value;
    return (await settings.get(name))?.string() ?? value;
  }
  async function createBuckets(): Promise<void> {
    await openBuckets();
    await Promise.all([...agreements].map(([name, value]) => agree(name, value)));
  }
  const guard = guardStreams(link, names, createBuckets, log);
  link.onReconnect(async () => {
    await guard
      .restore()
      .catch((problem: unknown) => log?.warn("The leases cannot be looked at", { problem }));
  });

  const reach = <T>(what: string, call: () => Promise<T>): Promise<T> =>
    orUnreachable(link, what, () => guard.run(call), RENEWAL_MS);

  const survey = leaseSurveys(jsm, own_stream, own_prefix);

  async function namesIn(stream: string, prefix: string): Promise<string[]> {
    const { state } = await jsm.streams.info(stream, { subjects_filter: `${prefix}>` });
    return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(prefix.length));
  }

  const keys = leaseKeys(jsm, own, own_stream, own_prefix, survey);

  return {
    ttl_ms,

    survey: () => reach("look at the leases", survey),

    create: (partition, node, terms) => {
      const what = `claim partition ${partition}`;
      return reach(what, async () => {
        const revision = await keys.take(what, keyOf(partition), node, terms);
        if (revision === null) return null;
        return { epoch: terms.generation * EPOCHS_OF_GENERATION + revision, revision };
      });
    },

    renew: (partition, node, lease) =>
      reach(`renew partition ${partition}`, async () => {
        const value = ownerValue(node, lease);
        const revision = await keys.renew(
          keyOf(partition),
          value,
          lease.revision,
          (stored) => stored.string() === value,
        );
        return revision === null ? { kind: "lost" } : { kind: "renewed", revision };
      }),

    release: (partition, { revision }) =>
      reach(`release partition ${partition}`, () => keys.remove(keyOf(partition), revision)),

    announcePresence: (node) => reach("announce this node", async () => void (await members.put(node, ""))),
    // By a purge: a delete marker would be one more name in every listing.
    removePresence: (node) =>
      reach("withdraw this node", async () => {
        await jsm.streams.purge(members_stream, { filter: `${members_prefix}${node}` });
      }),
    members: () => reach("list the nodes", () => namesIn(members_stream, members_prefix)),

    ...namedLeases({ link, own, tables, own_prefix, keys, namesIn, survey, reach }),

    compareClocks: (node, clock_ms) =>
      reach("compare the clocks", async () => {
        await clocks.put(node, String(clock_ms));
        const nodes = await namesIn(clocks_stream, clocks_prefix);
        const entries = await Promise.all(nodes.map((name) => clocks.get(name)));
        return entries
          .filter((entry) => entry !== null)
          .map((entry) => ({
            node: entry.key,
            id: entry.revision,
            ahead_ms: Number(entry.string()) - entry.created.getTime(),
          }));
      }),

    agreeOn: (name, value) =>
      reach(`agree on "${name}"`, async () => {
        const agreed = await agree(name, value);
        agreements.set(name, agreed);
        return agreed;
      }),

    overrule: (name, value) =>
      reach(`change "${name}"`, async () => {
        await settings.put(name, value);
        agreements.set(name, value);
      }),

    close: () => link.close(),
  };
}

/** A lease is a key of the bucket of owners, whatever it is for. */
interface LeaseKeys {
  /** Null: it is held. Throws Fault bus_unreachable when the terms are those of another store. */
  readonly take: (what: string, key: string, value: string, terms: ClaimTerms) => Promise<number | null>;
  /** Null: it is not held any more, or `isSame` denies that what is stored is an earlier renewal of it. */
  readonly renew: (
    key: string,
    value: string,
    revision: number,
    isSame: (stored: KvEntry, known: number) => boolean,
  ) => Promise<number | null>;
  /** With a revision only when that is its last one. */
  readonly remove: (key: string, revision?: number) => Promise<void>;
}

function leaseKeys(
  jsm: NatsLink["jsm"],
  own: KV,
  own_stream: string,
  own_prefix: string,
  survey: () => Promise<LeaseSurvey>,
): LeaseKeys {
  /** By a purge: a delete marker would count as a lease in every survey. */
  async function remove(key: string, revision?: number): Promise<void> {
    await jsm.streams.purge(own_stream, {
      filter: own_prefix + key,
      ...(revision !== undefined && { seq: revision + 1 }),
    });
  }

  return {
    remove,
    async take(what, key, value, { store_id, revision: reached }) {
      const revision = await unlessWrongRevision(own.create(key, value));
      if (revision === null) return null;
      // Asked afterwards: before, the store could still be lost and created again by another node.
      if (revision > reached && (await survey()).store_id === store_id) return revision;
      await remove(key, revision);
      throw anotherStore(what);
    },
    async renew(key, value, revision, isSame) {
      let known = revision;
      for (let n = 0; n < MAX_RENEWAL_ATTEMPTS; n++) {
        const renewed = await unlessWrongRevision(own.update(key, value, known, RENEWAL_MS));
        if (renewed !== null) return renewed;
        // An earlier renewal may have been stored although its reply was lost. Then this one continues from its revision.
        const stored = await own.get(key);
        if (!stored || !isSame(stored, known)) return null;
        known = stored.revision;
      }
      return null;
    },
  };
}

/** Keys of named leases begin with it, those of partitions do not. */
const NAMED = "n.";
/** The holder of a lease and its text. */
const SEPARATOR = "\n";

interface NamedLeaseDeps {
  readonly link: NatsLink;
  readonly own: KV;
  readonly tables: KV;
  readonly own_prefix: string;
  readonly keys: LeaseKeys;
  readonly namesIn: (stream: string, prefix: string) => Promise<string[]>;
  readonly survey: () => Promise<LeaseSurvey>;
  readonly reach: <T>(what: string, call: () => Promise<T>) => Promise<T>;
}

function namedLeases({
  link,
  own,
  tables,
  own_prefix,
  keys,
  namesIn,
  survey,
  reach,
}: NamedLeaseDeps): NamedLeases {
  const own_stream = bucketStream(link.name, "own");
  const table = tableStore(link, tables, bucketStream(link.name, "table"), unlessWrongRevision);

  return {
    hold(name, holder, terms) {
      const what = `take the lease "${name}"`;
      return reach(what, () => keys.take(what, NAMED + name, holder + SEPARATOR, terms));
    },

    renewHeld: (name, holder, text, revision) =>
      reach(`renew the lease "${name}"`, () =>
        keys.renew(
          NAMED + name,
          holder + SEPARATOR + text,
          revision,
          // An older revision: the store was rolled back.
          (stored, known) => stored.string().startsWith(holder + SEPARATOR) && stored.revision >= known,
        ),
      ),

    releaseHeld: (name, revision) =>
      reach(`release the lease "${name}"`, () => keys.remove(NAMED + name, revision)),
    heldNames: () =>
      reach("list the leases", async () => new Set(await namesIn(own_stream, own_prefix + NAMED))),
    textOf: (name) =>
      reach(`read the lease "${name}"`, async () => {
        const value = (await own.get(NAMED + name))?.string();
        return value?.slice(value.indexOf(SEPARATOR) + 1) ?? null;
      }),

    look: () =>
      reach("look at the table of assignments", async () => {
        const [table_revision, assigner] = await Promise.all([table.revision(), own.get(NAMED + ASSIGNER)]);
        return { table_revision, assigner_revision: assigner?.revision ?? 0 };
      }),
    table: () => reach("read the table of assignments", table.read),
    writeTable: (next, revision, terms) =>
      reach("write the table of assignments", async () => {
        const { store_id, revision: reached } = await survey();
        if (store_id !== terms.store_id || reached < terms.revision)
          throw anotherStore("write the table of assignments");
        return table.write(next, revision);
      }),
    onTable: table.onWrite,
  };
}

/** Surveys of the bucket of owners, as the server reports it. */
function leaseSurveys(
  jsm: NatsLink["jsm"],
  own_stream: string,
  own_prefix: string,
): () => Promise<LeaseSurvey> {
  async function lookAtStore(): Promise<LeaseSurvey> {
    // Keys of named leases have more than one token.
    const info = await jsm.streams.info(own_stream, { subjects_filter: `${own_prefix}*` });
    // The type lacks `ts`, the server's time, which every supported version sends.
    const { ts } = info as typeof info & { readonly ts: string };
    const subjects = Object.keys(info.state.subjects ?? {});
    return {
      store_id: info.created,
      age_ms: Date.parse(ts) - Date.parse(info.created),
      revision: info.state.last_seq,
      held: new Set(subjects.map((subject) => Number(subject.slice(own_prefix.length + 1)))),
    };
  }

  /** A node claims dozens of partitions at once: calls that wait while the server is asked share the next answer. */
  let asking: Promise<unknown> = Promise.resolve();
  let next: Promise<LeaseSurvey> | null = null;
  return () =>
    (next ??= asking.then(() => {
      next = null;
      const answer = lookAtStore();
      asking = answer.catch(() => {});
      return answer;
    }));
}
