/**
 * The bus and the leases on three servers of NATS: the suites of their ports, and what clients see while a leader is killed and a
 * server is cut off from the others, which its clients still reach.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { natsBus, streamName } from "../../cluster/adapters/bus/bus.nats.ts";
import { linkNats, type NatsLink } from "../../cluster/adapters/bus/connection.nats.ts";
import { natsLeases } from "../../cluster/adapters/leases/leases.nats.ts";
import type { Bus } from "../../cluster/ports/bus.ts";
import type { Lease, Leases, Renewal } from "../../cluster/ports/leases.ts";
import { type NatsCluster, SERVERS, startNatsCluster } from "../../ops/engines/nats-cluster.ts";
import { engineProgram } from "../harness/engines.ts";
import { type Holding, leaseProblems } from "../harness/history.ts";
import { type Link, linkTo } from "../harness/tcp-link.ts";
import { busSuite } from "./bus.ts";
import { leasesSuite, loseTableOf } from "./leases.ts";

/** Until servers that have just started, or lost their leader, have one. */
const ELECTED_MS = 20_000;
/** Until clients of a server that is cut off have left it, and the others have elected leaders. */
const MOVED_MS = 40_000;
const PARTITION = 1;
const HOLDERS = ["a", "b", "c"] as const;
const LEASES = 6;
const TTL_MS = 1_500;
const MARGIN_MS = 300;

const program = await engineProgram("bus");
let link: Link | null = null;
const nats: NatsCluster | null =
  program &&
  (await startNatsCluster(program, async (port) => {
    link = await linkTo(port);
    return link.port;
  }));
const address = (name: string): string => `${nats!.settings["TRAWL_BUS"]}/${name}`;
/** A node that starts while the servers have no leader tries again (ops/start-retry.ts). */
const elected = <T>(open: () => Promise<T>): Promise<T> =>
  vi.waitFor(open, { timeout: ELECTED_MS, interval: 100 });

afterAll(async () => {
  await nats?.stop();
  await link?.close();
});

describe.skipIf(nats === null)("three servers of NATS", () => {
  describe("as the bus", () => {
    busSuite(() => elected(() => natsBus(address("suite"))));
  });

  describe("as the leases", () => {
    const another = () => elected(() => natsLeases(address("suite"), { ttl_ms: TTL_MS }));
    leasesSuite(async () => ({
      leases: await another(),
      another,
      pass: (ms) => sleep(ms),
      loseTable: () => loseTableOf(address("suite")),
    }));
  });

  test("lose nothing and give no lease to two, while a leader is killed and a server is cut off", async () => {
    const name = "faults";
    const observer = await elected(() => linkNats(address(name), { purpose: "test" }));
    const bus = await elected(() => natsBus(address(name)));
    const leases = await Promise.all(
      HOLDERS.map(() => elected(() => natsLeases(address(name), { ttl_ms: TTL_MS }))),
    );
    const [over, closed] = [new AbortController(), new AbortController()];
    const told = tell(bus, over.signal, closed.signal);
    const holdings: Holding[] = [];
    const holding = Promise.all(
      leases.map((each, n) => holdInTurn(each, HOLDERS[n]!, holdings, over.signal)),
    );

    const grows = async (): Promise<void> => {
      const [sent, held] = [told.got.size, holdings.length];
      await vi.waitFor(() => expect(told.got.size).toBeGreaterThan(sent + 20), { timeout: MOVED_MS });
      await vi.waitFor(() => expect(holdings.length).toBeGreaterThan(held), { timeout: MOVED_MS });
    };
    await grows();
    const stream = await observer.jsm.streams.info(streamName(name, "work"));
    expect(stream.config.num_replicas).toBe(3);
    const leader = nats!.servers[SERVERS.indexOf(stream.cluster!.leader as "n1")]!;
    await leader.kill();
    await grows();
    await leader.restart();
    await grows();
    link!.cut();
    await grows();
    link!.heal({ reset: true });
    await grows();

    over.abort();
    await Promise.all([told.sending, holding]);
    // Messages that a server had delivered when its client was gone come to the next owner (checkStranded in partition.ts).
    await elected(() => told.read(2));
    await vi.waitFor(() => expect(told.got.size).toBe(told.sent()), { timeout: ELECTED_MS });
    expect(leaseProblems(holdings)).toEqual([]);
    closed.abort();
    await Promise.all([bus, ...leases, observer].map((each) => each.close()));
  }, 150_000);

  test("are left one by one when they answer nothing: a client of a server that is cut off goes to another", async () => {
    const cutOff = nats!.servers[SERVERS.indexOf("n3")]!;
    const isThere = ({ nc }: NatsLink): boolean => nc.getServer().endsWith(`:${cutOff.port}`);
    let client = await elected(() => linkNats(address("left"), { purpose: "test" }));
    // Which server a client connects to is chance.
    while (!isThere(client)) {
      await client.close();
      client = await linkNats(address("left"), { purpose: "test" });
    }
    link!.cut();
    await vi.waitFor(() => expect(isThere(client)).toBe(false), { timeout: MOVED_MS });
    await elected(() => client.jsm.getAccountInfo());
    link!.heal({ reset: true });
    await client.close();
  }, 100_000);
});

/** Sends numbers, each until the bus has it, to a reader that acknowledges each until the bus knows. */
function tell(bus: Bus, over: AbortSignal, closed: AbortSignal) {
  const got = new Set<number>();
  let sent = 0;
  const insist = async (work: () => Promise<boolean>): Promise<void> => {
    while (!(await work().catch(() => false)) && !closed.aborted) await sleep(50);
  };
  const read = (epoch: number) =>
    bus.subscribe(
      PARTITION,
      epoch,
      (delivery) => {
        got.add(JSON.parse(delivery.envelope.body) as number);
        void insist(() => delivery.acknowledge());
      },
      () => {},
      () => true,
    );
  async function send(): Promise<void> {
    await elected(() => read(1));
    for (; !over.aborted; sent++) {
      const [body, dedup_id] = [String(sent), `n${sent}`];
      const envelope = { partition: PARTITION, name: "numbers", key: "k", reply_to: null, timeout_ms: null };
      await insist(async () => {
        await bus.send({ ...envelope, stream: "work", body, dedup_id });
        return true;
      });
      await sleep(5);
    }
  }
  return { got, read, sent: () => sent, sending: send() };
}

/** Claims leases, renews each a few times, and lets go of it or of nothing; notes how long it believed in each. */
async function holdInTurn(
  leases: Leases,
  holder: string,
  holdings: Holding[],
  over: AbortSignal,
): Promise<void> {
  const hold = async (partition: number): Promise<void> => {
    while (!over.aborted) {
      await sleep(Math.random() * 200);
      const holding = await claim(leases, holder, partition).catch(() => null);
      if (holding) holdings.push(holding);
    }
  };
  await Promise.all(Array.from({ length: LEASES }, (_, partition) => hold(partition)));
}

async function claim(leases: Leases, holder: string, partition: number): Promise<Holding | null> {
  const { store_id } = await leases.survey();
  let sent_ms = performance.now();
  let lease: Lease | null = await leases.create(partition, holder, { store_id, generation: 1, revision: 0 });
  if (!lease) return null;
  const [from_ms, { epoch }] = [performance.now(), lease];
  // A renewed lease counts from when the renewal was sent, as partition-lease.ts has it.
  let until_ms = sent_ms + TTL_MS - MARGIN_MS;
  for (let n = 0; n < 3 && lease; n++) {
    await sleep(200);
    if (performance.now() >= until_ms) break;
    sent_ms = performance.now();
    const renewal: Renewal | null = await leases.renew(partition, holder, lease).catch(() => null);
    if (renewal?.kind !== "renewed") break;
    lease = { epoch, revision: renewal.revision };
    until_ms = Math.max(until_ms, sent_ms + TTL_MS - MARGIN_MS);
  }
  if (Math.random() < 0.7 && performance.now() < until_ms) {
    until_ms = performance.now();
    await leases.release(partition, lease).catch(() => {});
  }
  return { lease: `p${partition}`, holder, epoch, from_ms, until_ms };
}
