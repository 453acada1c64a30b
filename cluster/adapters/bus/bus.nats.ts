/**
 * The bus on NATS JetStream: two work-queue streams, with one pull consumer per stream and partition, whose name
 * carries the epoch. An ask goes past its stream while its partition has an owner (direct-asks.nats.ts). The new owner of a partition deletes the consumers of older epochs. The server then redelivers
 * what they had not acknowledged and refuses their later acknowledgements. Replies are plain NATS messages.
 *
 * The backlog stays in the server: at most MAX_PREFETCH envelopes of a partition and stream are on their way to this
 * node.
 */
import { createHash } from "node:crypto";
import {
  AckPolicy,
  type ApiError,
  type ConsumerConfig,
  DiscardPolicy,
  JetStreamApiError,
  type JsMsg,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";
import { createInbox, headers, type Msg, type MsgHdrs, nanos, RequestError } from "nats";
import {
  type Bus,
  type Delivery,
  type Inbox,
  type Envelope,
  MAX_ENVELOPE_BYTES,
  DEDUP_WINDOW_MS,
  type Subscription,
  type Stream,
  MAX_SYNC_AGE_MS,
  MAX_MAILBOX_LENGTH,
  MAX_PARTITIONS,
  MAX_ENVELOPE_OVERHEAD_BYTES,
} from "../../ports/bus.ts";
import { Fault } from "../../ports/fault.ts";
import { linkNats, type NatsLink, unreachable } from "./connection.nats.ts";
import { directAsks } from "./direct-asks.nats.ts";
import { watchAcknowledgements } from "./acknowledgements.nats.ts";
import { guardStreams } from "./stream-guard.nats.ts";
import type { Log } from "../../ports/log.ts";

export const STREAMS: readonly Stream[] = ["sync", "work"];
/** The third token of messages that no partition reads. */
const PROBE = "probe";
/** The second token of a stream's subjects. */
const SUBJECT_TOKEN = { sync: "s", work: "w" } as const;

export const streamName = (cluster: string, stream: Stream): string => `${cluster}-${stream.toUpperCase()}`;
const CONSUMER = /^p(\d+)-e(\d+)$/;
export const consumerName = (partition: number, epoch: number): string => `p${partition}-e${epoch}`;
/** The server numbers the deliveries of each consumer. */
const idOf = (stream: Stream, delivery: number): string => `${stream}:${delivery}`;
/** The owner of a consumer, from its name; null: not a consumer of ours. */
export function readConsumerName(name: string): { partition: number; epoch: number } | null {
  const [, partition, epoch] = CONSUMER.exec(name) ?? [];
  return partition === undefined ? null : { partition: Number(partition), epoch: Number(epoch) };
}

/** Size of a stream, after which the server refuses: the only limit on what all mailboxes together may hold. */
const MAX_STREAM_BYTES: Readonly<Record<Stream, number>> = { sync: 256 * 2 ** 20, work: 2 ** 30 };
/** Maximum size of a NATS message: body, overhead and the header fields. */
const MAX_MESSAGE_BYTES = MAX_ENVELOPE_BYTES + MAX_ENVELOPE_OVERHEAD_BYTES + 16 * 1024;
/** Long on purpose: a new epoch makes the server redeliver, not this timer. */
const ACK_WAIT_MS = 3_600_000;
const MAX_UNACKNOWLEDGED = 5_000;
/**
 * Consumers of a stream: one for each partition, and during a takeover those of its older epochs. Without a number of its own a stream has
 * that of the server, which is 1,000 on nats-server 2.15.
 */
const MAX_CONSUMERS = 2 * MAX_PARTITIONS;
/** Prefetched per partition and stream, beside what the reader has taken. */
const MAX_PREFETCH = 100;
/** A lost pull request is noticed after this time. */
const PULL_MS = 5_000;
const ACK_ANSWER_MS = 1_000;

/** Error codes of the server. Its texts change between versions. */
const STORE_FAILED = 10_077;
const FILTER_TAKEN = 10_100;
const CONSUMER_GONE = 10_014;
const STREAM_DIFFERS = 10_058;
/** The one text that is compared: the code STORE_FAILED has many causes. */
const SUBJECT_FULL = "maximum messages per subject exceeded";

const codeOf = (problem: unknown): number | null =>
  problem instanceof JetStreamApiError ? problem.code : null;

/**
 * A key as a token of a subject, readable for operators. The server limits messages per subject, so two keys with the
 * same token share one limit.
 */
export function tokenOf(key: string): string {
  const plain = key.toLowerCase().replaceAll(".", "_");
  if (/^[a-z0-9_-]{1,60}$/.test(plain)) return plain;
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 16);
  return `${plain.replaceAll(/[^a-z0-9_-]/g, "-").slice(0, 40)}-${digest}`;
}

const subjectOf = (prefix: string, { name, key }: Envelope): string => `${prefix}.${name}.${tokenOf(key)}`;
/** Null: a message that asks for its acknowledgement alone. */
export function partitionOfSubject(subject: string): number | null {
  const token = subject.split(".")[2];
  return token === PROBE ? null : Number(token);
}

function configOf({ name, replicas }: NatsLink, stream: Stream): Partial<StreamConfig> & { name: string } {
  return {
    name: streamName(name, stream),
    subjects: [`${name}.${SUBJECT_TOKEN[stream]}.>`],
    retention: RetentionPolicy.Workqueue,
    // A memory stream is lost with its only server; on disk it survives a restart together with its consumers.
    storage: stream === "sync" && replicas > 1 ? StorageType.Memory : StorageType.File,
    num_replicas: replicas,
    discard: DiscardPolicy.New,
    discard_new_per_subject: true,
    max_msgs_per_subject: MAX_MAILBOX_LENGTH[stream],
    max_bytes: MAX_STREAM_BYTES[stream],
    max_msg_size: MAX_MESSAGE_BYTES,
    max_consumers: MAX_CONSUMERS,
    max_age: stream === "sync" ? nanos(MAX_SYNC_AGE_MS) : 0,
    duplicate_window: nanos(DEDUP_WINDOW_MS[stream]),
  };
}

async function prepareStreams(link: NatsLink): Promise<void> {
  for (const stream of STREAMS) {
    const config = configOf(link, stream);
    try {
      await link.jsm.streams.add(config);
    } catch (problem) {
      if (codeOf(problem) !== STREAM_DIFFERS)
        throw unreachable(`prepare the stream "${config.name}"`, problem);
      // A stream without it is that of an earlier version, whose cluster has 64 partitions.
      const { max_consumers: _, ...changeable } = config;
      await link.jsm.streams.update(config.name, changeable).catch((cause: unknown) => {
        throw unreachable(`change the stream "${config.name}"`, cause);
      });
    }
  }
}

/** Everything but the body goes into header fields, percent-encoded. */
function headOf({ key, reply_to, timeout_ms, dedup_id: once }: Envelope): MsgHdrs {
  const head = headers();
  head.set("Trawl-Key", encodeURIComponent(key));
  if (reply_to !== null) head.set("Trawl-Reply", encodeURIComponent(reply_to));
  if (timeout_ms !== null) head.set("Trawl-Timeout", String(timeout_ms));
  if (once !== null) head.set("Nats-Msg-Id", encodeURIComponent(once));
  return head;
}

function envelopeOf(
  stream: Stream,
  partition: number,
  {
    subject,
    headers: head,
    data,
  }: Pick<Msg, "subject" | "data"> & { readonly headers?: MsgHdrs | undefined },
): Envelope {
  const header = (name: string): string | null => {
    const text = head?.get(name) ?? "";
    return text === "" ? null : decodeURIComponent(text);
  };
  const timeout = header("Trawl-Timeout");
  return {
    stream,
    partition,
    name: subject.split(".").at(-2)!,
    key: header("Trawl-Key") ?? "",
    body: Buffer.from(data.buffer, data.byteOffset, data.length).toString(),
    dedup_id: header("Nats-Msg-Id"),
    reply_to: header("Trawl-Reply"),
    timeout_ms: timeout === null ? null : Number(timeout),
  };
}

function encodeBody(what: string, body: string): Buffer {
  const bytes = Buffer.from(body);
  if (bytes.length > MAX_ENVELOPE_BYTES + MAX_ENVELOPE_OVERHEAD_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send ${what}: ${bytes.length} bytes are more than ${MAX_ENVELOPE_BYTES}`,
    );
  return bytes;
}

const encodeMessage = ({ name, key, body }: Envelope): Buffer =>
  encodeBody(`a message to "${name}/${key}"`, body);

export interface NatsBus extends Bus {
  /** Streams that acknowledge nothing, although NATS answers: as of the last ping. */
  readonly silentStreams: () => readonly string[];
}

/** One algorithm: the streams, consumers and acknowledgements of one connection. */
export async function natsBus(address: string, log?: Log): Promise<NatsBus> {
  const link = await linkNats(address, { purpose: "bus", ...(log && { log }) });
  const { nc, js, jsm, name: cluster } = link;
  await prepareStreams(link).catch(async (problem: unknown) => {
    await link.close();
    throw problem;
  });
  const streams = STREAMS.map((stream) => ({
    name: streamName(cluster, stream),
    probe_subject: `${cluster}.${SUBJECT_TOKEN[stream]}.${PROBE}`,
  }));
  const streamNames = streams.map(({ name }) => name);
  const guard = guardStreams(link, streamNames, () => prepareStreams(link), log);
  const acknowledgements = watchAcknowledgements(link, streams, guard.run, log);
  const direct = directAsks({
    nc,
    name: cluster,
    encode: (envelope, prefix) => ({
      subject: subjectOf(prefix, envelope),
      headers: headOf(envelope),
      body: encodeMessage(envelope),
    }),
    decode: (partition, message) => envelopeOf("sync", partition, message),
    store: (envelope) => store(envelope),
    log,
  });
  // A cluster of servers may have lost its memory streams, a server all of them.
  link.onReconnect(async () => {
    await guard
      .restore()
      .catch((problem: unknown) => log?.warn("The streams cannot be looked at", { problem }));
  });

  // --- reading ----------------------------------------------------------------------------------------------------

  async function consumersOf(stream: Stream): Promise<readonly string[]> {
    const all: string[] = [];
    for (;;) {
      const answer = await nc.request(
        `$JS.API.CONSUMER.NAMES.${streamName(cluster, stream)}`,
        JSON.stringify({ offset: all.length }),
        { timeout: 2_000 },
      );
      const { consumers, total, error } = answer.json<{
        consumers?: string[] | null;
        total?: number;
        error?: ApiError;
      }>();
      if (error) throw new JetStreamApiError(error);
      all.push(...(consumers ?? []));
      if (all.length >= (total ?? 0) || !consumers || consumers.length === 0) return all;
    }
  }

  /** A node claims dozens of partitions at once: calls that wait while a listing runs share the next one. */
  const listing: Record<Stream, { running: Promise<unknown>; next: Promise<readonly string[]> | null }> = {
    sync: { running: Promise.resolve(), next: null },
    work: { running: Promise.resolve(), next: null },
  };
  function listConsumers(stream: Stream): Promise<readonly string[]> {
    const state = listing[stream];
    state.next ??= state.running.then(() => {
      state.next = null;
      const names = consumersOf(stream);
      state.running = names.catch(() => {});
      return names;
    });
    return state.next;
  }

  async function deleteConsumer(stream: Stream, consumer: string): Promise<void> {
    try {
      await jsm.consumers.delete(streamName(cluster, stream), consumer);
    } catch (problem) {
      if (codeOf(problem) !== CONSUMER_GONE) throw problem;
    }
  }

  /** Deletes the consumers of older epochs; the server redelivers what they had not acknowledged. */
  async function deleteOlderConsumers(stream: Stream, partition: number, epoch: number): Promise<void> {
    for (const consumer of await listConsumers(stream)) {
      const owner = readConsumerName(consumer);
      if (owner?.partition !== partition || owner.epoch === epoch) continue;
      if (owner.epoch > epoch)
        throw new Fault("lease_lost", `Cannot read partition ${partition}: a newer owner reads it`);
      await deleteConsumer(stream, consumer);
    }
  }

  const consumerConfig = (stream: Stream, partition: number, epoch: number): Partial<ConsumerConfig> => ({
    durable_name: consumerName(partition, epoch),
    filter_subject: `${cluster}.${SUBJECT_TOKEN[stream]}.${partition}.>`,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_ack_pending: MAX_UNACKNOWLEDGED,
  });

  async function acknowledge(reply: string): Promise<boolean> {
    await link.connected(ACK_ANSWER_MS);
    try {
      // Not ack(), which has no reply, nor ackAck(), which sends only once and so hangs for its whole time-out after a
      // reconnect.
      await nc.request(reply, "+ACK", { timeout: ACK_ANSWER_MS });
      return true;
    } catch (problem) {
      if (problem instanceof RequestError && problem.isNoResponders()) return false;
      throw unreachable("acknowledge a message", problem);
    }
  }

  async function subscribe(
    partition: number,
    epoch: number,
    deliver: (delivery: Delivery) => void | Promise<void>,
    onLost: () => void,
    isLeaseValid: () => boolean,
  ): Promise<Subscription> {
    const name = consumerName(partition, epoch);
    await link.connected();
    await guard.run(() =>
      Promise.all(STREAMS.map((stream) => deleteOlderConsumers(stream, partition, epoch))),
    );
    if (!isLeaseValid())
      throw new Fault("lease_lost", `Cannot read partition ${partition}: its lease is no longer valid`);

    const pulls: { stop(): void }[] = [];
    let asks: { stop(): void } | null = null;
    let backlog = 0;
    let stopped = false;
    const stop = (): void => {
      stopped = true;
      asks?.stop();
      for (const pull of pulls) pull.stop();
    };
    const remove = async (): Promise<void> => {
      stop();
      await Promise.all(STREAMS.map((stream) => deleteConsumer(stream, name)));
    };

    async function open(stream: Stream): Promise<void> {
      const info = await jsm.consumers.add(
        streamName(cluster, stream),
        consumerConfig(stream, partition, epoch),
      );
      if (stream === "work") backlog = info.num_pending;
      const messages = await js.consumers.getConsumerFromInfo(info).consume({
        max_messages: MAX_PREFETCH,
        expires: PULL_MS,
        abort_on_missing_resource: true,
      });
      pulls.push(messages);
      void readAll(stream, messages).then(() => {
        // Our own stop ends it, too.
        if (stopped) return;
        stop();
        onLost();
      });
    }

    /** More is asked of the server only when all that has come was taken. Resolves when the consumer is gone. */
    async function readAll(stream: Stream, messages: AsyncIterable<JsMsg>): Promise<void> {
      try {
        for await (const message of messages) {
          if (stopped) return;
          // The type lacks `reply`, but every message of a consumer has it.
          const { reply } = message as JsMsg & { readonly reply: string };
          const taken = deliver({
            id: idOf(stream, message.info.deliverySequence),
            envelope: envelopeOf(stream, partition, message),
            sent_ms: Math.floor(message.info.timestampNanos / 1e6),
            acknowledge: () => acknowledge(reply),
          });
          if (taken) await taken;
        }
      } catch (problem) {
        log?.debug("A consumer ended", { partition, stream, problem });
      }
    }

    const opened = await Promise.allSettled(STREAMS.map(open));
    const failed = opened.find((end) => end.status === "rejected");
    if (failed) {
      await remove().catch(() => {});
      if (codeOf(failed.reason) === FILTER_TAKEN)
        throw new Fault("lease_lost", `Cannot read partition ${partition}: another consumer reads it`);
      throw failed.reason;
    }
    asks = direct.read(partition, { deliver, isLeaseValid });

    return {
      backlog,
      stop,
      remove: () => orUnreachable(`stop reading partition ${partition}`, remove()),
      oldestUnacknowledged: () => orUnreachable(`look at partition ${partition}`, oldestUnacknowledged(name)),
    };
  }

  /** All deliveries up to the floor are acknowledged. */
  async function oldestUnacknowledged(consumer: string): Promise<string[]> {
    const looks = STREAMS.map(async (stream) => {
      const { num_ack_pending, ack_floor } = await jsm.consumers.info(streamName(cluster, stream), consumer);
      return num_ack_pending === 0 ? [] : [idOf(stream, ack_floor.consumer_seq + 1)];
    });
    return (await Promise.all(looks)).flat();
  }

  async function orUnreachable<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (problem) {
      throw problem instanceof Fault ? problem : unreachable(what, problem);
    }
  }

  // --- sending ----------------------------------------------------------------------------------------------------

  async function send(envelope: Envelope): Promise<boolean> {
    const reconnected = link.connected();
    if (reconnected) await reconnected;
    if (envelope.stream === "sync" && (await direct.send(envelope))) return true;
    return store(envelope);
  }

  async function store(envelope: Envelope): Promise<boolean> {
    const { stream, name, key, partition } = envelope;
    const body = encodeMessage(envelope);
    const reconnected = link.connected();
    if (reconnected) await reconnected;
    try {
      const subject = subjectOf(`${cluster}.${SUBJECT_TOKEN[stream]}.${partition}`, envelope);
      const { duplicate } = await guard.run(() => js.publish(subject, body, { headers: headOf(envelope) }));
      acknowledgements.record(streamName(cluster, stream), true);
      return !duplicate;
    } catch (problem) {
      if (codeOf(problem) === STORE_FAILED && (problem as Error).message.includes(SUBJECT_FULL))
        throw new Fault(
          "mailbox_full",
          `Cannot reach "${name}/${key}": ${MAX_MAILBOX_LENGTH[stream]} messages wait there`,
        );
      acknowledgements.record(streamName(cluster, stream), false);
      throw unreachable(`send a message to "${name}/${key}"`, problem);
    }
  }

  const answer = async (reply_address: string, body: string): Promise<void> => {
    // Nothing is awaited before this, or a later acknowledgement could overtake the reply.
    const bytes = encodeBody("an answer", body);
    try {
      nc.publish(reply_address, bytes);
    } catch (problem) {
      throw unreachable("send an answer", problem);
    }
  };

  async function inbox(receive: (token: string, body: string) => void): Promise<Inbox> {
    const base = createInbox();
    const subscription = nc.subscribe(`${base}.*`, {
      callback(problem, message) {
        if (problem) return;
        direct.answered(message.subject);
        receive(message.subject.slice(base.length + 1), message.string());
      },
    });
    // So that the subscription exists before the first ask is sent.
    await orUnreachable("open an inbox", nc.flush());
    return {
      address: (token) => `${base}.${token}`,
      close: async () => subscription.unsubscribe(),
    };
  }

  return {
    send,
    subscribe: (partition, epoch, deliver, onLost, isLeaseValid) =>
      orUnreachable(
        `read partition ${partition}`,
        subscribe(partition, epoch, deliver, onLost, isLeaseValid),
      ),
    answer,
    inbox,
    onReconnect: (call) => link.onReconnect(call),
    async ping() {
      await link.connected(0);
      await orUnreachable("reach NATS", jsm.getAccountInfo());
      await orUnreachable("publish to NATS", acknowledgements.confirm());
    },
    silentStreams: acknowledgements.silent,
    close: () => link.close(),
  };
}
