/**
 * Mailboxes that outlive a node: one queue per partition and stream, read by whoever holds the partition, and answers
 * that go straight to the asker. What each side may rely on is in cluster.md, sections 3 to 5 and 9.
 */

/** `sync` is for questions somebody waits for, kept in memory; `work` for what must not be lost, kept on disk. */
export type Stream = "sync" | "work";

/** UTF-8 bytes of one message or reply; more is refused with Fault message_too_large. */
export const MAX_ENVELOPE_BYTES = 256 * 1024;
/** What a letter's body or an answer says beside it: key, operation, names. */
export const MAX_ENVELOPE_OVERHEAD_BYTES = 16 * 1024;
/** Letters one actor may have that are not acknowledged; one more is refused with Fault mailbox_full. */
export const MAX_MAILBOX_LENGTH: Readonly<Record<Stream, number>> = { sync: 500, work: 2_000 };
/** A letter with the same `once` within this time of the first is stored once. */
export const DEDUP_WINDOW_MS: Readonly<Record<Stream, number>> = { sync: 2 * 60_000, work: 5 * 60_000 };
/** Nobody waits longer than 160 s for an answer, so an older letter is forgotten. */
export const MAX_SYNC_AGE_MS = 170_000;

export interface Envelope {
  readonly stream: Stream;
  readonly partition: number;
  /** The contract's name and the actor's key: together the mailbox, whose order is kept and whose length is limited. */
  readonly name: string;
  readonly key: string;
  /** UTF-8 JSON, written by the sender; the bus does not look into it. */
  readonly body: string;
  /** What makes a letter the same letter; null: each is its own. */
  readonly dedup_id: string | null;
  /** Where the answer goes (an address made by Inbox); null: nowhere. */
  readonly reply_to: string | null;
  /** Unix milliseconds after which nobody waits; null: it never gets too old. */
  readonly deadline_ms: number | null;
}

export interface Delivery {
  /** Unlike that of any other delivery to the same reader. */
  readonly id: string;
  readonly envelope: Envelope;
  /**
   * Takes it out of the queue; may be repeated. True: it is out. False: this reader is no longer the one, and the
   * letter is somebody else's. Throws Fault bus_unreachable: nobody said either.
   */
  acknowledge(): Promise<boolean>;
}

/** The letters of one partition, read by the owner of one epoch. */
export interface Subscription {
  /** Hands out nothing more; what was handed out can still be acknowledged. */
  stop(): void;
  /** Takes the reader off the bus: whatever is not acknowledged comes to the next one. */
  remove(): Promise<void>;
  /** Of each stream the id of what the bus handed out first of all that it counts as not acknowledged. */
  oldestUnacknowledged(): Promise<readonly string[]>;
}

/** Where answers to one node arrive. */
export interface Inbox {
  /** The address under which `receive` is called with this token (letters, digits, "-" and "_"). */
  address(token: string): string;
  close(): Promise<void>;
}

/** Throws Fault bus_unreachable, mailbox_full, message_too_large, lease_lost, and nothing else. */
export interface Bus {
  /** Stores a letter. False: one with the same `once` was stored before. */
  send(envelope: Envelope): Promise<boolean>;
  /**
   * Reads a partition as the owner of an epoch, in order per actor: first whatever older epochs left unacknowledged.
   * They read no more and their acknowledgements are refused. Throws Fault lease_lost when a newer epoch reads already,
   * or when `mayOpen` says no after the older ones are gone. `lost` is called when the reader was taken away.
   */
  subscribe(
    partition: number,
    epoch: number,
    deliver: (delivery: Delivery) => void,
    onLost: () => void,
    isLeaseValid: () => boolean,
  ): Promise<Subscription>;
  /** Sends an answer to an address; at most once, and nothing happens when nobody is there. */
  answer(address: string, body: string): Promise<void>;
  inbox(receive: (token: string, body: string) => void): Promise<Inbox>;
  /** Calls back when the connection was away and is there again: answers may have been lost. */
  onReconnect(call: () => void): void;
  ping(): Promise<void>;
  close(): Promise<void>;
}
