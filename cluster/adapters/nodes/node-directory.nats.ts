/**
 * The node directory on plain NATS messages: `<cluster>.x.nodes` and `.x.log-level` ask all nodes, `.x.drain.<node>` one of
 * them. The backlogs are the consumers' own counters.
 */
import type { Stream } from "../../ports/bus.ts";
import type { NodeReport, QueueReport, NodeDirectory } from "../../ports/node-directory.ts";
import { partitionOfSubject, readConsumerName, STREAMS, streamName } from "../bus/bus.nats.ts";
import { hasNoResponder, linkNats, orUnreachable } from "../bus/connection.nats.ts";
import { isStreamNotFound } from "../bus/stream-guard.nats.ts";
import { BUCKETS, bucketStream, settingSubject } from "../leases/leases.nats.ts";
import { type Log, LOG_LEVELS } from "../../ports/log.ts";

/** How long reports are collected. A healthy node answers within a few milliseconds, a busy one takes longer. */
const REPORT_WAIT_MS = 700;
const DRAIN_ANSWER_MS = 2_000;

export async function natsNodeDirectory(address: string, log?: Log): Promise<NodeDirectory> {
  const link = await linkNats(address, { purpose: "node directory", ...(log && { log }) });
  const { nc, jsm, name: cluster } = link;
  const all_nodes = `${cluster}.x.nodes`;
  const log_level = `${cluster}.x.log-level`;

  const reach = <T>(what: string, call: () => Promise<T>): Promise<T> => orUnreachable(link, what, call);

  /** Answers within the time, of every node that listens. */
  async function answersOf<T>(subject: string, text: string, wait_ms: number): Promise<T[]> {
    const answers: T[] = [];
    try {
      const options = { strategy: "timer", maxWait: wait_ms } as const;
      for await (const message of await nc.requestMany(subject, text, options))
        answers.push(message.json<T>());
    } catch (problem) {
      // No responders: no node is running.
      if (!hasNoResponder(problem)) throw problem;
    }
    return answers;
  }

  async function queuesOf(stream: Stream): Promise<QueueReport[]> {
    const name = streamName(cluster, stream);
    const queues: QueueReport[] = [];
    try {
      for await (const info of jsm.consumers.list(name)) {
        const owner = readConsumerName(info.name);
        if (owner)
          queues.push({ stream, ...owner, waiting: info.num_pending, unacknowledged: info.num_ack_pending });
      }
      const unread = new Map<number, number>();
      const { state } = await jsm.streams.info(name, { subjects_filter: ">" });
      for (const [subject, count] of Object.entries(state.subjects ?? {})) {
        const partition = partitionOfSubject(subject);
        if (partition !== null && !queues.some((queue) => queue.partition === partition))
          unread.set(partition, (unread.get(partition) ?? 0) + count);
      }
      for (const [partition, waiting] of unread)
        queues.push({ stream, partition, epoch: 0, waiting, unacknowledged: 0 });
      return queues;
    } catch (problem) {
      // A stream that was lost holds nothing.
      if (isStreamNotFound(problem)) return [];
      throw problem;
    }
  }

  return {
    cluster,

    serve: (node, { report, drain, setLogLevel }) =>
      reach("answer for this node", async () => {
        nc.subscribe(all_nodes, {
          callback: (problem, message) => void (problem ?? message.respond(JSON.stringify(report()))),
        });
        nc.subscribe(`${cluster}.x.drain.${node}`, {
          callback(problem, message) {
            if (problem) return;
            message.respond("draining");
            drain();
          },
        });
        nc.subscribe(log_level, {
          callback(problem, message) {
            const level = problem ? undefined : LOG_LEVELS.find((name) => name === message.string());
            if (level === undefined) return;
            setLogLevel(level);
            message.respond(JSON.stringify(node));
          },
        });
        await nc.flush();
      }),

    nodes: (wait_ms = REPORT_WAIT_MS) =>
      reach("list the nodes", async () => {
        const reports = await answersOf<NodeReport>(all_nodes, "", wait_ms);
        return reports.toSorted((a, b) => (a.node < b.node ? -1 : 1));
      }),

    setLogLevel: (level) =>
      reach("set the log level", async () =>
        (await answersOf<string>(log_level, level, REPORT_WAIT_MS)).toSorted(),
      ),

    drain: (node) =>
      reach(`drain "${node}"`, async () => {
        try {
          await nc.request(`${cluster}.x.drain.${node}`, "", { timeout: DRAIN_ANSWER_MS });
          return true;
        } catch (problem) {
          if (hasNoResponder(problem)) return false;
          throw problem;
        }
      }),

    queues: () =>
      reach("list the backlogs", async () => {
        const queues = (await Promise.all(STREAMS.map(queuesOf))).flat();
        return queues.toSorted((a, b) => a.partition - b.partition || a.stream.localeCompare(b.stream));
      }),

    partitions: () =>
      reach("look at the agreed settings", async () => {
        try {
          const last_by_subj = settingSubject(cluster, "partitions");
          const stored = await jsm.streams.getMessage(bucketStream(cluster, "cfg"), { last_by_subj });
          return Number(stored?.string() ?? 0);
        } catch (problem) {
          if (isStreamNotFound(problem)) return 0;
          throw problem;
        }
      }),

    wipe: () =>
      reach("wipe the bus", async () => {
        const own_streams = [
          ...STREAMS.map((stream) => streamName(cluster, stream)),
          ...BUCKETS.map((bucket) => bucketStream(cluster, bucket)),
        ];
        const existing = new Set<string>();
        for await (const name of jsm.streams.names()) existing.add(name);
        const removed = own_streams.filter((name) => existing.has(name));
        for (const name of removed) await jsm.streams.delete(name);
        return removed;
      }),

    close: () => link.close(),
  };
}
