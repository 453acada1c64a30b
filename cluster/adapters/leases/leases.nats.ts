/**
 * Leases in NATS key-value buckets. The bucket `own` has one key per partition, renewed by compare-and-set on its
 * revision and expired by the bucket's TTL. `members` lists the nodes that are present, `cfg` the settings that all
 * nodes share.
 *
 * It has a connection of its own, so that a renewal never waits behind a large envelope. An epoch combines the
 * cluster's generation and the revision at creation in one number, because the revisions of a rebuilt bus start again
 * at 1.
 */
import { JetStreamApiError, StorageType } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import { Fault } from "../../ports/fault.ts";
import { type Lease, type Leases, presenceTtlMs } from "../../ports/leases.ts";
import { linkNats, type NatsLink, orUnreachable, unreachable } from "../bus/connection.nats.ts";
import type { Log } from "../../ports/log.ts";

/** Shorter, and partitions move whenever a node stalls. The limiter of the filing system must move within 4 s. */
const TTL_MS = 3_000;
/** Time-out of a renewal: twice the interval, and less than the safety margin before the lease expires. */
const RENEWAL_MS = 1_600;
/** A renewal that collides with an earlier renewal of the same lease is retried at the found revision. */
const MAX_RENEWAL_ATTEMPTS = 3;
const WRONG_SEQUENCE_CODES: ReadonlySet<number> = new Set([10_071, 10_164]);
/** Multiplier of the generation in an epoch: room for 8,000 generations of 2^40 revisions each. */
const GENERATION = 2 ** 40;

/** Owners, present nodes, shared settings. */
export const BUCKETS = ["own", "members", "cfg"] as const;
type BucketName = (typeof BUCKETS)[number];

/** The stream in which NATS keeps a bucket. */
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
      // Reads go to the leader: a follower may not have an acknowledged write yet.
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

  const reach = <T>(what: string, call: () => Promise<T>): Promise<T> =>
    orUnreachable(link, what, call, RENEWAL_MS);

  const key = (partition: number): string => `p${partition}`;
  /** The value of a partition's key. */
  const ownerValue = (node: string, { epoch }: Lease): string => `${node}/${epoch}`;

  async function renewLease(partition: number, node: string, lease: Lease): Promise<number | null> {
    let { revision } = lease;
    for (let n = 0; n < MAX_RENEWAL_ATTEMPTS; n++) {
      try {
        return await own.update(key(partition), ownerValue(node, lease), revision, RENEWAL_MS);
      } catch (problem) {
        if (!isWrongRevision(problem)) throw problem;
      }
      // An earlier renewal may have been stored although its reply was lost. Then this one continues from its revision.
      const current = await own.get(key(partition));
      if (current?.string() !== ownerValue(node, lease)) return null;
      revision = current.revision;
    }
    return null;
  }

  return {
    ttl_ms,

    create: (partition, node) =>
      reach(`claim partition ${partition}`, async () => {
        try {
          const revision = await own.create(key(partition), node);
          return { epoch: generation * GENERATION + revision, revision };
        } catch (problem) {
          if (isWrongRevision(problem)) return null;
          throw problem;
        }
      }),

    renew: (partition, node, lease) =>
      reach(`renew partition ${partition}`, async () => {
        const revision = await renewLease(partition, node, lease);
        return revision === null ? { kind: "lost" } : { kind: "renewed", revision };
      }),

    release: (partition, { revision }) =>
      reach(`release partition ${partition}`, async () => {
        try {
          await own.delete(key(partition), { previousSeq: revision });
        } catch (problem) {
          if (!isWrongRevision(problem)) throw problem;
        }
      }),

    announcePresence: (node) => reach("announce this node", async () => void (await members.put(node, ""))),
    // By a purge: a delete marker would be one more name in every listing.
    removePresence: (node) =>
      reach("withdraw this node", async () => {
        await jsm.streams.purge(members_stream, { filter: `${members_prefix}${node}` });
      }),
    members: () =>
      reach("list the nodes", async () => {
        const { state } = await jsm.streams.info(members_stream, { subjects_filter: `${members_prefix}>` });
        return Object.keys(state.subjects ?? {}).map((subject) => subject.slice(members_prefix.length));
      }),

    agreeOn: (name, value) =>
      reach(`agree on "${name}"`, async () => {
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
