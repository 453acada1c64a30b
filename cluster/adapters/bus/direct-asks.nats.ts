/**
 * Asks that go straight to the owner of their partition, as plain messages of NATS: nothing is stored, and nothing is acknowledged but
 * by the answer. An ask that no owner takes is left to the stream, which keeps it for the next owner. One that has no answer yet
 * is sent again when an owner begins to read its partition, as the stream would deliver again what was not acknowledged.
 */
import { createInbox, type Msg, type MsgHdrs, type NatsConnection } from "nats";
import { type Delivery, type Envelope, MAX_MAILBOX_LENGTH } from "../../ports/bus.ts";
import { Fault } from "../../ports/fault.ts";
import type { Log } from "../../ports/log.ts";

/** Asks of one partition that its actors have not answered. */
const MAX_UNACKNOWLEDGED = 5_000;
/** An ask whose caller has left without an answer is forgotten by the first that is sent so long after the last look. */
const SWEEP_MS = 5_000;
/** The word of an owner whose mailbox has no room. Any other word, and the server's own, says that no owner took the ask. */
const FULL = "full";
const NOT_TAKEN = "not taken";

interface Sent {
  readonly envelope: Envelope;
  /** On the monotonic clock. */
  readonly until_ms: number;
  /** Whether it was taken, which its answer says. */
  readonly taken: PromiseWithResolvers<boolean>;
}

export interface DirectAsks {
  /** True: it was answered, or its caller has left. False: no owner took it. Throws Fault mailbox_full. */
  readonly send: (envelope: Envelope) => Promise<boolean>;
  /** The answer at this address of an inbox has come. */
  readonly answered: (address: string) => void;
  /** Reads the asks of a partition until it is stopped. */
  readonly read: (partition: number, reader: DirectReader) => { readonly stop: () => void };
}

interface DirectReader {
  readonly deliver: (delivery: Delivery) => void | Promise<void>;
  readonly isLeaseValid: () => boolean;
}

interface DirectAsksDeps {
  readonly nc: Pick<NatsConnection, "publish" | "subscribe" | "isClosed">;
  /** Cluster's name. */
  readonly name: string;
  readonly encode: (
    envelope: Envelope,
    subject_prefix: string,
  ) => { readonly subject: string; readonly headers: MsgHdrs; readonly body: Buffer };
  readonly decode: (partition: number, message: Msg) => Envelope;
  /** Leaves an ask to the stream. */
  readonly store: (envelope: Envelope) => Promise<unknown>;
  readonly log: Log | undefined;
}

/** `<contract>.<operation>#<address of the inbox>`. */
const addressOf = (reply_to: string): string => reply_to.slice(reply_to.indexOf("#") + 1);

export function directAsks({ nc, name, encode, decode, store, log }: DirectAsksDeps): DirectAsks {
  const prefixOf = (partition: number): string => `${name}.a.${partition}`;
  const ownerSubject = (partition: number | string): string => `${name}.o.${partition}`;
  /** Behind it stands the address of the answer. */
  const refusals = createInbox();
  const unanswered = new Map<string, Sent>();
  let swept_ms = performance.now();

  function end(address: string, sent: Sent | undefined, isTaken: boolean): void {
    if (!sent) return;
    if (unanswered.get(address) === sent) unanswered.delete(address);
    sent.taken.resolve(isTaken);
  }

  function sweep(now_ms: number): void {
    if (now_ms - swept_ms < SWEEP_MS) return;
    swept_ms = now_ms;
    for (const [address, sent] of unanswered) if (sent.until_ms <= now_ms) end(address, sent, true);
  }

  async function send(envelope: Envelope): Promise<boolean> {
    const { reply_to, timeout_ms, partition } = envelope;
    // Without an answer it is not known when it must not be sent again.
    if (reply_to === null || timeout_ms === null) return false;
    const address = addressOf(reply_to);
    const { subject, headers, body } = encode(envelope, prefixOf(partition));
    const now_ms = performance.now();
    sweep(now_ms);
    end(address, unanswered.get(address), true);
    const taken = Promise.withResolvers<boolean>();
    unanswered.set(address, { envelope, until_ms: now_ms + timeout_ms, taken });
    try {
      nc.publish(subject, body, { headers, reply: `${refusals}.${address}` });
    } catch (problem) {
      log?.debug("An ask cannot be sent to its owner", { problem });
      end(address, unanswered.get(address), false);
    }
    return taken.promise;
  }

  nc.subscribe(`${refusals}.>`, {
    callback(problem, message) {
      if (problem) return;
      const address = message.subject.slice(refusals.length + 1);
      const sent = unanswered.get(address);
      if (!sent) return;
      if (message.string() !== FULL) return end(address, sent, false);
      unanswered.delete(address);
      const { name: actor, key } = sent.envelope;
      const text = `Cannot reach "${actor}/${key}": ${MAX_MAILBOX_LENGTH.sync} messages wait there`;
      sent.taken.reject(new Fault("mailbox_full", text));
    },
  });

  async function sendAgain(sent: Sent): Promise<void> {
    const timeout_ms = Math.floor(sent.until_ms - performance.now());
    if (timeout_ms <= 0) return;
    const again = { ...sent.envelope, timeout_ms };
    if (!(await send(again))) await store({ ...again, dedup_id: null });
  }

  nc.subscribe(ownerSubject("*"), {
    callback(problem, message) {
      if (problem) return;
      const partition = Number(message.subject.split(".").at(-1));
      // All of them first: an ask that is sent again stands at the end.
      const open = [...unanswered.values()].filter(({ envelope }) => envelope.partition === partition);
      for (const sent of open)
        sendAgain(sent).catch((cause: unknown) => {
          // Its caller sends it again after a while.
          log?.debug("An ask cannot be sent again", { problem: cause });
        });
    },
  });

  return {
    send,
    answered: (address) => end(address, unanswered.get(address), true),
    read(partition, { deliver, isLeaseValid }) {
      const inbox = readerOf(deliver);
      const subscription = nc.subscribe(`${prefixOf(partition)}.>`, {
        callback(problem, message) {
          if (problem) return;
          try {
            if (!isLeaseValid()) message.respond(NOT_TAKEN);
            else if (!inbox.take(decode(partition, message))) message.respond(FULL);
          } catch (cause) {
            log?.warn("An ask cannot be read", { partition, problem: cause });
          }
        },
      });
      nc.publish(ownerSubject(partition));
      return {
        stop() {
          inbox.stop();
          if (!nc.isClosed()) subscription.unsubscribe();
        },
      };
    },
  };
}

/** Asks of a reader: limits them, and delivers none while the reader has no room. */
function readerOf(deliver: DirectReader["deliver"]) {
  /** Addresses of what is not acknowledged. */
  const open = new Set<string>();
  /** How many of them, by mailbox. */
  const lengths = new Map<string, number>();
  let taken = 0;
  const waiting: Delivery[] = [];
  let isWaiting = false;
  let isStopped = false;

  function count(mailbox: string, by: 1 | -1): void {
    const length = (lengths.get(mailbox) ?? 0) + by;
    if (length === 0) lengths.delete(mailbox);
    else lengths.set(mailbox, length);
  }

  function deliveryOf(envelope: Envelope, mailbox: string): Delivery {
    const { reply_to } = envelope;
    return {
      id: `direct:${++taken}`,
      envelope,
      sent_ms: Infinity,
      async acknowledge() {
        if (open.delete(reply_to!)) count(mailbox, -1);
        return true;
      },
    };
  }

  async function deliverAll(): Promise<void> {
    for (let next = waiting.shift(); next && !isStopped; next = waiting.shift()) await deliver(next);
    isWaiting = false;
  }

  return {
    /** False: there is no room for it. */
    take(envelope: Envelope): boolean {
      const { name, key, reply_to } = envelope;
      // Its caller's connection has sent it again, because it heard that this reader began.
      if (open.has(reply_to!)) return true;
      const mailbox = `${name}/${key}`;
      if ((lengths.get(mailbox) ?? 0) >= MAX_MAILBOX_LENGTH.sync || open.size >= MAX_UNACKNOWLEDGED)
        return false;
      open.add(reply_to!);
      count(mailbox, 1);
      const delivery = deliveryOf(envelope, mailbox);
      if (isWaiting) {
        waiting.push(delivery);
        return true;
      }
      const room = deliver(delivery);
      if (room) {
        isWaiting = true;
        void room.then(deliverAll);
      }
      return true;
    },
    stop() {
      isStopped = true;
      waiting.length = 0;
    },
  };
}
