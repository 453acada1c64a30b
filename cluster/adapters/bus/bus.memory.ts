/**
 * The bus within one process: maps and callbacks. Tests and the simulator use it, where several nodes share one bus; an
 * embedded service needs none. It keeps every promise of the port, so what works on it works on NATS.
 */
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
  MAX_ENVELOPE_OVERHEAD_BYTES,
} from "../../ports/bus.ts";
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";

interface Stored {
  readonly envelope: Envelope;
  readonly order: number;
  readonly sent_ms: number;
  /** The epoch of the reader it was delivered to; 0: not delivered yet. */
  delivered_to: number;
}

const idOf = ({ envelope, order }: Stored): string => `${envelope.stream}:${order}`;

interface Reader {
  readonly epoch: number;
  readonly deliver: (delivery: Delivery) => void | Promise<void>;
  readonly onLost: () => void;
  /** Streams of which it takes nothing at this moment. */
  readonly waiting: Set<Stream>;
  is_reading: boolean;
}

interface Partition {
  readonly stored: Map<number, Stored>;
  reader: Reader | null;
}

export interface MemoryBus extends Bus {
  /**
   * Remembers what is stored. What is returned goes back to it, as a server does after a power cut that had not synced what came
   * later, and answers the envelopes that were lost. Readers from after the copy lose their partitions.
   */
  readonly copy: () => () => readonly Envelope[];
  /** Everything that is not acknowledged. */
  readonly unacknowledged: () => readonly Envelope[];
}

const STREAMS: readonly Stream[] = ["sync", "work"];

function assertSize(what: string, body: string): void {
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_ENVELOPE_BYTES + MAX_ENVELOPE_OVERHEAD_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send ${what}: ${bytes} bytes are more than ${MAX_ENVELOPE_BYTES}`,
    );
}

const mailboxOf = ({ stream, name, key }: Envelope): string => `${stream} ${name} ${key}`;

export function memoryBus(clock: Clock): MemoryBus {
  const partitions = new Map<number, Partition>();
  const mailbox_lengths = new Map<string, number>();
  /** When each `dedup_id` was first seen, per stream, oldest first. */
  const seen = new Map<Stream, Map<string, number>>(STREAMS.map((stream) => [stream, new Map()]));
  const inboxes = new Map<string, (token: string, body: string) => void>();
  let order = 0;
  let boxes = 0;

  function partitionAt(partition: number): Partition {
    const existing = partitions.get(partition);
    if (existing) return existing;
    const created: Partition = { stored: new Map(), reader: null };
    partitions.set(partition, created);
    return created;
  }

  function isDuplicate({ stream, dedup_id: once }: Envelope, now_ms: number): boolean {
    if (once === null) return false;
    const recent = seen.get(stream)!;
    for (const [id, at_ms] of recent) {
      if (now_ms - at_ms < DEDUP_WINDOW_MS[stream]) break;
      recent.delete(id);
    }
    if (recent.has(once)) return true;
    recent.set(once, now_ms);
    return false;
  }

  function remove(partition: Partition, { order: at, envelope }: Stored): void {
    if (!partition.stored.delete(at)) return;
    const remaining = mailbox_lengths.get(mailboxOf(envelope))! - 1;
    if (remaining === 0) mailbox_lengths.delete(mailboxOf(envelope));
    else mailbox_lengths.set(mailboxOf(envelope), remaining);
  }

  function deliverWaiting(partition: Partition): void {
    const { reader } = partition;
    if (!reader?.is_reading) return;
    const now_ms = clock.now();
    for (const stored of partition.stored.values()) {
      const { stream } = stored.envelope;
      if (stored.delivered_to === reader.epoch || reader.waiting.has(stream)) continue;
      if (stream === "sync" && now_ms - stored.sent_ms >= MAX_SYNC_AGE_MS) {
        remove(partition, stored);
        continue;
      }
      stored.delivered_to = reader.epoch;
      const taken = reader.deliver({
        id: idOf(stored),
        envelope: stored.envelope,
        sent_ms: stored.sent_ms,
        async acknowledge() {
          if (partition.reader !== reader) return false;
          remove(partition, stored);
          return true;
        },
      });
      if (!taken) continue;
      reader.waiting.add(stream);
      void taken.then(() => {
        reader.waiting.delete(stream);
        if (partition.reader === reader) deliverWaiting(partition);
      });
    }
  }

  return {
    async send(envelope) {
      assertSize(`a message to "${envelope.name}/${envelope.key}"`, envelope.body);
      const now_ms = clock.now();
      const count = mailbox_lengths.get(mailboxOf(envelope)) ?? 0;
      if (count >= MAX_MAILBOX_LENGTH[envelope.stream])
        throw new Fault(
          "mailbox_full",
          `Cannot reach "${envelope.name}/${envelope.key}": ${count} messages wait there`,
        );
      if (isDuplicate(envelope, now_ms)) return false;
      const partition = partitionAt(envelope.partition);
      const stored: Stored = { envelope, order: order++, sent_ms: now_ms, delivered_to: 0 };
      partition.stored.set(stored.order, stored);
      mailbox_lengths.set(mailboxOf(envelope), count + 1);
      queueMicrotask(() => deliverWaiting(partition));
      return true;
    },

    async subscribe(number, epoch, deliver, onLost, isLeaseValid) {
      const partition = partitionAt(number);
      const previous = partition.reader;
      if (previous && previous.epoch > epoch)
        throw new Fault("lease_lost", `Cannot read partition ${number}: a newer owner reads it`);
      partition.reader = null;
      previous?.onLost();
      if (!isLeaseValid())
        throw new Fault("lease_lost", `Cannot read partition ${number}: its lease is no longer valid`);
      const reader: Reader = { epoch, deliver, onLost, waiting: new Set(), is_reading: true };
      const waiting = [...partition.stored.values()].filter(
        ({ envelope, delivered_to }) => envelope.stream === "work" && delivered_to !== epoch,
      );
      partition.reader = reader;
      queueMicrotask(() => deliverWaiting(partition));
      const subscription: Subscription = {
        backlog: waiting.length,
        stop: () => void (reader.is_reading = false),
        async remove() {
          reader.is_reading = false;
          if (partition.reader !== reader) return;
          partition.reader = null;
        },
        async oldestUnacknowledged() {
          const delivered = [...partition.stored.values()].filter(
            ({ delivered_to: held_by }) => held_by === epoch,
          );
          const first = STREAMS.map((stream) => delivered.find(({ envelope }) => envelope.stream === stream));
          return first.filter((stored) => stored !== undefined).map(idOf);
        },
      };
      return subscription;
    },

    async answer(address, body) {
      assertSize("an answer", body);
      const dot = address.lastIndexOf(".");
      const receive = inboxes.get(address.slice(0, dot));
      if (receive) queueMicrotask(() => receive(address.slice(dot + 1), body));
    },

    async inbox(receive) {
      const name = `inbox.${boxes++}`;
      inboxes.set(name, receive);
      const inbox: Inbox = {
        address: (token) => `${name}.${token}`,
        close: async () => void inboxes.delete(name),
      };
      return inbox;
    },

    copy: () => copyOf({ partitions, mailbox_lengths, seen }),
    unacknowledged: () =>
      [...partitions.values()].flatMap(({ stored }) => [...stored.values()].map(({ envelope }) => envelope)),

    onReconnect() {},
    ping: async () => {},
    close: async () => {},
  };
}

interface StoredBus {
  readonly partitions: ReadonlyMap<number, Partition>;
  readonly mailbox_lengths: Map<string, number>;
  readonly seen: ReadonlyMap<Stream, Map<string, number>>;
}

function copyOf({ partitions, mailbox_lengths, seen }: StoredBus): () => readonly Envelope[] {
  const before = new Map(
    [...partitions].map(([number, { stored, reader }]) => [
      number,
      { epoch: reader?.epoch, stored: [...stored.values()].map((each) => ({ ...each })) },
    ]),
  );
  const lengths = [...mailbox_lengths];
  const ids = [...seen].map(([stream, times]) => [stream, [...times]] as const);
  return () => {
    const lost: Envelope[] = [];
    for (const [number, partition] of partitions) {
      const { stored = [], epoch } = before.get(number) ?? {};
      const orders = new Set(stored.map(({ order }) => order));
      for (const { order, envelope } of partition.stored.values())
        if (!orders.has(order)) lost.push(envelope);
      partition.stored.clear();
      for (const each of stored) partition.stored.set(each.order, { ...each });
      const { reader } = partition;
      if (!reader || reader.epoch === epoch) continue;
      partition.reader = null;
      reader.onLost();
    }
    restore(mailbox_lengths, lengths);
    for (const [stream, times] of ids) restore(seen.get(stream)!, times);
    return lost;
  };
}

function restore<Key, Value>(map: Map<Key, Value>, entries: Iterable<readonly [Key, Value]>): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
