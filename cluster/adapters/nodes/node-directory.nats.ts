/** The roster on plain NATS messages: `<cluster>.x.nodes` asks everybody, `<cluster>.x.drain.<node>` one; queues are the streams' own numbers. */
import { NoRespondersError, RequestError } from "nats";
import type { NodeReport, Queue, Roster } from "../../ports/node-directory.ts";
import type { Meters } from "../../ports/meters.ts";
import { Fault } from "../../ports/fault.ts";
import { readConsumerName, STREAMS, streamName } from "../bus/bus.nats.ts";
import { linkNats, unreachable } from "../bus/connection.nats.ts";
import { BUCKETS, bucketStream } from "../leases/leases.nats.ts";

/** A healthy node answers within a few milliseconds; a busy one may take longer. */
const WAIT_MS = 700;
const DRAIN_ANSWER_MS = 2_000;

const isNobody = (problem: unknown): boolean =>
  problem instanceof NoRespondersError || (problem instanceof RequestError && problem.isNoResponders());

export async function natsRoster(address: string, meters?: Meters): Promise<Roster> {
  const link = await linkNats(address, { purpose: "roster", ...(meters && { meters }) });
  const { nc, jsm, name: cluster } = link;
  const everybody = `${cluster}.x.nodes`;

  async function asked<T>(what: string, call: () => Promise<T>): Promise<T> {
    try {
      await link.up();
      return await call();
    } catch (problem) {
      throw problem instanceof Fault ? problem : unreachable(what, problem);
    }
  }

  return {
    serve: (node, { report, drain }) =>
      asked("answer for this node", async () => {
        nc.subscribe(everybody, {
          callback: (problem, message) => void (problem ?? message.respond(JSON.stringify(report()))),
        });
        nc.subscribe(`${cluster}.x.drain.${node}`, {
          callback(problem, message) {
            if (problem) return;
            message.respond("draining");
            drain();
          },
        });
        await nc.flush();
      }),

    nodes: (wait_ms = WAIT_MS) =>
      asked("ask who is there", async () => {
        const reports: NodeReport[] = [];
        try {
          for await (const message of await nc.requestMany(everybody, "", {
            strategy: "timer",
            maxWait: wait_ms,
          }))
            reports.push(message.json<NodeReport>());
        } catch (problem) {
          // Nobody listens: nobody is there.
          if (!isNobody(problem)) throw problem;
        }
        return reports.toSorted((a, b) => (a.node < b.node ? -1 : 1));
      }),

    drain: (node) =>
      asked(`drain "${node}"`, async () => {
        try {
          await nc.request(`${cluster}.x.drain.${node}`, "", { timeout: DRAIN_ANSWER_MS });
          return true;
        } catch (problem) {
          if (isNobody(problem)) return false;
          throw problem;
        }
      }),

    queues: () =>
      asked("look at the queues", async () => {
        const queues: Queue[] = [];
        for (const stream of STREAMS)
          for await (const info of jsm.consumers.list(streamName(cluster, stream))) {
            const whose = readConsumerName(info.name);
            if (whose)
              queues.push({
                stream,
                ...whose,
                waiting: info.num_pending,
                unacknowledged: info.num_ack_pending,
              });
          }
        return queues.toSorted((a, b) => a.partition - b.partition || a.stream.localeCompare(b.stream));
      }),

    wipe: () =>
      asked("empty the bus", async () => {
        const ours = [
          ...STREAMS.map((stream) => streamName(cluster, stream)),
          ...BUCKETS.map((bucket) => bucketStream(cluster, bucket)),
        ];
        const there = new Set<string>();
        for await (const name of jsm.streams.names()) there.add(name);
        const removed = ours.filter((name) => there.has(name));
        for (const name of removed) await jsm.streams.delete(name);
        return removed;
      }),

    close: () => link.close(),
  };
}
