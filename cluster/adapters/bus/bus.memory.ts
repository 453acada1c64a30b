/**
 * The bus within one process: queues and callbacks. For tests and for the simulator, where several nodes share one;
 * an embedded service needs none. It keeps every promise of the port, so what runs on it runs on NATS.
 */
import {
  type Bus,
  type Delivery,
  type Inbox,
  type Letter,
  MAX_ENVELOPE_BYTES,
  ONCE_MS,
  type Reading,
  type Stream,
  SYNC_AGE_MS,
  MAX_UNREAD,
  MAX_WRAPPING_BYTES,
} from "../../ports/bus.ts";
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";

interface Stored {
  readonly letter: Letter;
  readonly order: number;
  readonly sent_ms: number;
  /** The epoch it was handed to, or 0. */
  held_by: number;
}

const idOf = ({ letter, order }: Stored): string => `${letter.stream}:${order}`;

interface Reader {
  readonly epoch: number;
  readonly take: (delivery: Delivery) => void;
  readonly lost: () => void;
  reading: boolean;
}

interface Partition {
  readonly stored: Map<number, Stored>;
  reader: Reader | null;
}

const STREAMS: readonly Stream[] = ["sync", "work"];

function measure(what: string, body: string): void {
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_ENVELOPE_BYTES + MAX_WRAPPING_BYTES)
    throw new Fault(
      "message_too_large",
      `Cannot send ${what}: ${bytes} bytes are more than ${MAX_ENVELOPE_BYTES}`,
    );
}

const mailbox = ({ stream, name, key }: Letter): string => `${stream} ${name} ${key}`;

export function memoryBus(clock: Clock): Bus {
  const partitions = new Map<number, Partition>();
  const unread = new Map<string, number>();
  /** When each `once` was first seen, per stream, oldest first. */
  const seen = new Map<Stream, Map<string, number>>(STREAMS.map((stream) => [stream, new Map()]));
  const inboxes = new Map<string, (token: string, body: string) => void>();
  let order = 0;
  let boxes = 0;

  function partitionAt(partition: number): Partition {
    const known = partitions.get(partition);
    if (known) return known;
    const fresh: Partition = { stored: new Map(), reader: null };
    partitions.set(partition, fresh);
    return fresh;
  }

  function repeated({ stream, once }: Letter, now_ms: number): boolean {
    if (once === null) return false;
    const before = seen.get(stream)!;
    for (const [id, at_ms] of before) {
      if (now_ms - at_ms < ONCE_MS[stream]) break;
      before.delete(id);
    }
    if (before.has(once)) return true;
    before.set(once, now_ms);
    return false;
  }

  function remove(partition: Partition, { order: at, letter }: Stored): void {
    if (!partition.stored.delete(at)) return;
    const left = unread.get(mailbox(letter))! - 1;
    if (left === 0) unread.delete(mailbox(letter));
    else unread.set(mailbox(letter), left);
  }

  function handOut(partition: Partition): void {
    const { reader } = partition;
    if (!reader?.reading) return;
    const now_ms = clock.now();
    for (const stored of partition.stored.values()) {
      if (stored.held_by === reader.epoch) continue;
      if (stored.letter.stream === "sync" && now_ms - stored.sent_ms >= SYNC_AGE_MS) {
        remove(partition, stored);
        continue;
      }
      stored.held_by = reader.epoch;
      reader.take({
        id: idOf(stored),
        letter: stored.letter,
        async acknowledge() {
          if (partition.reader !== reader) return false;
          remove(partition, stored);
          return true;
        },
      });
    }
  }

  return {
    async send(letter) {
      measure(`"${letter.name}/${letter.key}" a letter`, letter.body);
      const now_ms = clock.now();
      const count = unread.get(mailbox(letter)) ?? 0;
      if (count >= MAX_UNREAD[letter.stream])
        throw new Fault(
          "mailbox_full",
          `Cannot reach "${letter.name}/${letter.key}": ${count} letters wait there`,
        );
      if (repeated(letter, now_ms)) return false;
      const partition = partitionAt(letter.partition);
      const stored = { letter, order: order++, sent_ms: now_ms, held_by: 0 };
      partition.stored.set(stored.order, stored);
      unread.set(mailbox(letter), count + 1);
      queueMicrotask(() => handOut(partition));
      return true;
    },

    async read(number, epoch, take, lost, mayOpen) {
      const partition = partitionAt(number);
      const before = partition.reader;
      if (before && before.epoch > epoch)
        throw new Fault("lease_lost", `Cannot read partition ${number}: a newer owner is at work`);
      partition.reader = null;
      before?.lost();
      if (!mayOpen()) throw new Fault("lease_lost", `Cannot read partition ${number}: too slow to begin`);
      const reader: Reader = { epoch, take, lost, reading: true };
      partition.reader = reader;
      queueMicrotask(() => handOut(partition));
      const reading: Reading = {
        stop: () => void (reader.reading = false),
        async remove() {
          reader.reading = false;
          if (partition.reader !== reader) return;
          partition.reader = null;
        },
        async oldest() {
          const held = [...partition.stored.values()].filter(({ held_by }) => held_by === epoch);
          const first = STREAMS.map((stream) => held.find(({ letter }) => letter.stream === stream));
          return first.filter((stored) => stored !== undefined).map(idOf);
        },
      };
      return reading;
    },

    async answer(address, body) {
      measure("an answer", body);
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

    onReconnect() {},
    ping: async () => {},
    close: async () => {},
  };
}
