/**
 * Leases in NATS key-value buckets (cluster.md, sections 3.3 and 4): a key for each partition, renewed by compare-and-set
 * on its revision and forgotten by the bucket's own time; who is there; and what all nodes must agree on.
 *
 * On a connection of its own, so that no large letter is in front of a renewal. An epoch is the cluster's generation
 * and the revision at creation in one number: a bus that was rebuilt counts from 1 again.
 */
import { JetStreamApiError, StorageType } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { Fault } from "../../ports/fault.ts";
import { type Lease, type Leases, presenceTtlMs } from "../../ports/leases.ts";
import { linkNats, type NatsLink, unreachable } from "../bus/connection.nats.ts";
import type { Log } from "../../ports/log.ts";

/** Shorter would move partitions whenever a node stalls; the filing limiter must move within 4 s. */
const TTL_MS = 3_000;
/** Twice the time between two renewals, which is less than the margin leaves of the lease. */
const RENEWAL_MS = 1_600;
/** A renewal that meets its own earlier one is tried again with what it finds. */
const MAX_RENEWAL_ATTEMPTS = 3;
const WRONG_SEQUENCE_CODES: ReadonlySet<number> = new Set([10_071, 10_164]);
/** Room for 8,000 generations of a million million revisions each. */
const GENERATION = 2 ** 40;

/** Who owns what, who is there, what all agreed on. */
export const BUCKETS = ["own", "members", "cfg"] as const;
type BucketName = (typeof BUCKETS)[number];

/** The stream a bucket is kept in. */
export const bucketStream = (cluster: string, bucket: BucketName): string => `KV_${cluster}-${bucket}`;

const isWrongRevision = (problem: unknown): boolean =>
  problem instanceof JetStreamApiError && WRONG_SEQUENCE_CODES.has(problem.code);

export async function natsLeases(
  address: string,
  { ttl_ms = TTL_MS, log }: { readonly ttl_ms?: number; readonly log?: Log } = {},
): Promise<Leases> {
  const link = await linkNats(address, { purpose: "leases", ...(log && { log }) });
  try {
    return await leasesOn(link, ttl_ms);
  } catch (problem) {
    await link.close();
    throw problem instanceof Fault ? problem : unreachable("open the leases", problem);
  }
}

async function leasesOn(link: NatsLink, ttl_ms: number): Promise<Leases> {
  const { js, jsm, name: cluster, replicas } = link;
  const buckets = new Kvm(js);
  const bucket = (name: BucketName, ttl?: number): Promise<KV> =>
    buckets.create(`${cluster}-${name}`, {
      history: 1,
      replicas,
      storage: StorageType.File,
      // Read from the leader: a follower may not know yet what was acknowledged.
      allow_direct: false,
      ...(ttl && { ttl }),
    });
  const [own, members, settings] = await Promise.all([
    bucket("own", ttl_ms),
    bucket("members", presenceTtlMs(ttl_ms)),
    bucket("cfg"),
  ]);
  const members_stream = bucketStream(cluster, "members");
  const members_prefix = `$KV.${cluster}-members.`;
  let generation = 0;

  async function orUnreachable<T>(what: string, call: () => Promise<T>): Promise<T> {
    try {
      await link.connected(RENEWAL_MS);
      return await call();
    } catch (problem) {
      if (problem instanceof Fault) throw problem;
      throw unreachable(what, problem);
    }
  }

  const key = (partition: number): string => `p${partition}`;
  /** Of an epoch, what the bucket knows. */
  const ownerValue = (node: string, { epoch }: Lease): string => `${node}/${epoch}`;

  async function renewLease(partition: number, node: string, lease: Lease): Promise<number | null> {
    let { revision } = lease;
    for (let n = 0; n < MAX_RENEWAL_ATTEMPTS; n++) {
      try {
        return await own.update(key(partition), ownerValue(node, lease), revision, RENEWAL_MS);
      } catch (problem) {
        if (!isWrongRevision(problem)) throw problem;
      }
      // An earlier renewal may have arrived though its answer did not. It began the lease's time, so renew on top of it.
      const current = await own.get(key(partition));
      if (current?.string() !== ownerValue(node, lease)) return null;
      revision = current.revision;
    }
    return null;
  }

  return {
    ttl_ms,

    create: (partition, node) =>
      orUnreachable(`claim partition ${partition}`, async () => {
        try {
          const revision = await own.create(key(partition), node);
          return { epoch: generation * GENERATION + revision, revision };
        } catch (problem) {
          if (isWrongRevision(problem)) return null;
          throw problem;
        }
      }),

    renew: (partition, node, lease) =>
      orUnreachable(`renew partition ${partition}`, async () => {
        const revision = await renewLease(partition, node, lease);
        return revision === null ? { kind: "lost" } : { kind: "renewed", revision };
      }),

    release: (partition, { revision }) =>
      orUnreachable(`release partition ${partition}`, async () => {
        try {
          await own.delete(key(partition), { previousSeq: revision });
        } catch (problem) {
          if (!isWrongRevision(problem)) throw problem;
        }
      }),

    announcePresence: (node) =>
      orUnreachable("say that this node is there", async () => void (await members.put(node, ""))),
    // Without a marker, which would be one more name for everybody to read.
    removePresence: (node) =>
      orUnreachable("say that this node leaves", async () => {
        await jsm.streams.purge(members_stream, { filter: `${members_prefix}${node}` });
      }),
    members: () =>
      orUnreachable("see who is there", async () => {
        const { state } = await jsm.streams.info(members_stream, { subjects_filter: `${members_prefix}>` });
        return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(members_prefix.length));
      }),

    agreeOn: (name, value) =>
      orUnreachable(`agree on "${name}"`, async () => {
        const agreed = await settings.create(name, value).then(
          () => value,
          async (problem: unknown) => {
            if (!isWrongRevision(problem)) throw problem;
            return (await settings.get(name))?.string() ?? value;
          },
        );
        if (name === "generation") generation = Number(agreed);
        return agreed;
      }),

    close: () => link.close(),
  };
}
