/**
 * Mailboxes that outlive a node. Each partition has one queue per stream, read by the owner node of the partition, and
 * replies go directly to the node that asked.
 *
 * Delivery is at least once and in order per mailbox: an envelope stays in its queue until the owner acknowledges it,
 * and the next owner gets what the last one did not acknowledge. An ask may go past the queue to an owner that reads: then the
 * connection that sent it keeps it until it is answered, and sends it to the next owner. Only the reader with the newest epoch may read and
 * acknowledge a partition.
 */

/**
 * `sync` is for asks, whose caller waits; it may be kept in memory. `work` is for tells, which must not be lost; it is
 * kept on disk.
 */
export type Stream = "sync" | "work";

/** UTF-8 bytes of one message or reply. A larger one is refused with Fault message_too_large. */
export const MAX_ENVELOPE_BYTES = 256 * 1024;
/** Bytes that an envelope or a reply may add to its body: key, operation, names. */
export const MAX_ENVELOPE_OVERHEAD_BYTES = 16 * 1024;
/** Unacknowledged envelopes of one mailbox. One more is refused with Fault mailbox_full. */
export const MAX_MAILBOX_LENGTH: Readonly<Record<Stream, number>> = { sync: 500, work: 2_000 };
/** A cluster is divided into at most so many partitions, each of which has a reader of both streams. */
export const MAX_PARTITIONS = 4_096;
/** Envelopes with the same `dedup_id` within this time of the first are stored once. */
export const DEDUP_WINDOW_MS: Readonly<Record<Stream, number>> = { sync: 2 * 60_000, work: 5 * 60_000 };
/** An ask waits at most 160 s for its reply, so an older envelope of the stream `sync` is dropped. */
export const MAX_SYNC_AGE_MS = 170_000;

export interface Envelope {
  readonly stream: Stream;
  readonly partition: number;
  /**
   * The contract's name and the actor's key. Together they name the mailbox, which keeps its order and has a limited
   * length.
   */
  readonly name: string;
  readonly key: string;
  /** UTF-8 JSON, written by the sender; the bus does not read it. */
  readonly body: string;
  /** Two envelopes with the same id are the same message (see DEDUP_WINDOW_MS); null: never a duplicate. */
  readonly dedup_id: string | null;
  /** The address for the reply, made by Inbox; null: there is no reply. */
  readonly reply_to: string | null;
  /**
   * How long the caller still waits when the envelope is sent; null: it never expires. The owner counts it from the
   * delivery, because clocks of two nodes differ.
   */
  readonly timeout_ms: number | null;
}

export interface Delivery {
  /** Unique among the deliveries to this reader. */
  readonly id: string;
  readonly envelope: Envelope;
  /** When the bus stored it, in Unix milliseconds of the bus. Infinity: it came past the queue, and did not wait. */
  readonly sent_ms: number;
  /**
   * Removes the envelope from its queue; may be repeated. True: it is removed. False: a newer reader owns the partition
   * now, and with it this envelope. Throws Fault bus_unreachable: neither is known.
   */
  acknowledge(): Promise<boolean>;
}

/** The reader of one partition in one epoch. */
export interface Subscription {
  /** Delivers nothing more. What was delivered can still be acknowledged. */
  stop(): void;
  /** Removes this reader from the bus. Unacknowledged envelopes go to the next reader. */
  remove(): Promise<void>;
  /** For each stream, the id of the oldest delivery from its queue that the bus counts as unacknowledged. */
  oldestUnacknowledged(): Promise<readonly string[]>;
  /** How many envelopes of the stream `work` were stored already when it was opened: the first of that stream to be delivered. */
  readonly backlog: number;
}

/** Receives the replies for one node. */
export interface Inbox {
  /** The address that makes the bus call `receive` with this token (letters, digits, "-" and "_"). */
  address(token: string): string;
  close(): Promise<void>;
}

/** All methods throw Fault bus_unreachable, mailbox_full, message_too_large or lease_lost, and nothing else. */
export interface Bus {
  /**
   * Stores an envelope. False: an envelope with the same `dedup_id` is stored already. For an ask with an address for its reply that
   * goes past the queue it resolves when the reply has come, or when the caller has left.
   */
  send(envelope: Envelope): Promise<boolean>;
  /**
   * Reads a partition as its owner of this epoch, in order per mailbox. Envelopes that older epochs left unacknowledged
   * come first; older readers are stopped and their acknowledgements refused. When `deliver` returns a promise, the next
   * envelope of that stream is delivered once it has resolved; it never rejects.
   *
   * Throws Fault lease_lost when a newer epoch reads already, or when `isLeaseValid` is false after older readers were
   * stopped. `onLost` is called when another reader took the partition.
   */
  subscribe(
    partition: number,
    epoch: number,
    deliver: (delivery: Delivery) => void | Promise<void>,
    onLost: () => void,
    isLeaseValid: () => boolean,
  ): Promise<Subscription>;
  /** Sends a reply to an address, at most once. It is lost when no node has that address any more. */
  answer(address: string, body: string): Promise<void>;
  inbox(receive: (token: string, body: string) => void): Promise<Inbox>;
  /** Calls back after a reconnect: replies may have been lost meanwhile. */
  onReconnect(call: () => void): void;
  /** Resolves when the bus answers and has acknowledged envelopes of both streams lately. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
