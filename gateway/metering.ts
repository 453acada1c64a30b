/**
 * What every key used this month: counted here, told to each project's Account actor about once a second, and
 * corrected by what it answers, which includes other gateways. A request is reserved before it runs and settled
 * after, so that many at once cannot pass a quota. What a killed process had not told yet is lost: a second's worth.
 */
import type { Say } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";
import {
  Account,
  type Grant,
  monthEnds,
  monthOf,
  type QuotaCategory,
  type Tally,
  type Totals,
  type Usage,
  type UsageByCategory,
} from "../schemas/accounts.ts";
import type { BILLING_CATEGORIES } from "../schemas/common.ts";
import { type Allowances, type Used, usedOf } from "./limits.ts";

export type Billing = (typeof BILLING_CATEGORIES)[number];

/** How an answered request is billed. */
export interface Bill {
  readonly category: Billing;
  readonly ok: boolean;
  readonly bytes: number;
  /** A premium route gave the page. */
  readonly paid: boolean;
  readonly cost_micros: number;
}

/** One key's account at this gateway. `used` is what the actor last told, and everything seen here since. */
export interface KeyMeter {
  readonly prefix: string;
  readonly book: Book;
  readonly used: Used;
  readonly reserved: { search: number; fetch: number };
  allowances: Allowances;
  pending: Map<Billing, Usage>;
}

/** One project's month at this gateway. */
interface Book {
  readonly project: string;
  readonly keys: Map<string, KeyMeter>;
  month: string;
  ends_ms: number;
  /** Cut and not yet acknowledged, oldest first; the first of them may be on its way. */
  unsent: Tally[];
  sequence: number;
  loaded: boolean;
  sending: Promise<void> | null;
}

export interface Metering {
  /** The meter of a key; waits for the month's numbers when the key has allowances and none were read yet. */
  open(grant: Grant): Promise<KeyMeter>;
  /** Moves a meter into the month of `now_ms`. Call before reading `used`. */
  turn(meter: KeyMeter, now_ms: number): void;
  reserve(meter: KeyMeter, category: QuotaCategory | null): void;
  /** Ends a reservation; `bill` null: nothing is counted. */
  settle(meter: KeyMeter, category: QuotaCategory | null, bill: Bill | null): void;
  /** Tells a project's actor everything seen so far. Throws Fault. */
  flush(project: string): Promise<void>;
  /** Tells everything to everyone; what cannot be told is logged. */
  drain(): Promise<void>;
}

interface Needs {
  readonly ask: Say;
  readonly clock: Clock;
  readonly meters: Meters;
  /** Unlike any other gateway's, now or before: repeated tallies are known by it. */
  readonly gateway: string;
}

const TELL_EVERY_MS = 1000;
const TELL_WAIT_MS = 10_000;
/** An actor that cannot be reached for this many cuts gets larger tallies, not more of them. */
const UNSENT_MOST = 60;

export function metering({ ask, clock, meters, gateway }: Needs): Metering {
  const books = new Map<string, Book>();
  let armed = false;

  function bookOf(project: string): Book {
    const known = books.get(project);
    if (known) return known;
    const now_ms = clock.now();
    const fresh: Book = {
      project,
      keys: new Map(),
      month: monthOf(now_ms),
      ends_ms: monthEnds(now_ms),
      unsent: [],
      sequence: 0,
      loaded: false,
      sending: null,
    };
    books.set(project, fresh);
    return fresh;
  }

  function arm(): void {
    if (armed) return;
    armed = true;
    clock.at(clock.now() + TELL_EVERY_MS, () => {
      armed = false;
      for (const book of books.values()) if (isOwing(book)) void tell(book).catch(() => arm());
    });
  }

  const isOwing = (book: Book): boolean => {
    if (book.unsent.length > 0) return true;
    for (const { pending } of book.keys.values()) if (pending.size > 0) return true;
    return false;
  };

  /** Closes what is pending into a tally of the book's month. */
  function cut(book: Book): void {
    const owing = [...book.keys.values()].filter(({ pending }) => pending.size > 0);
    if (owing.length === 0) return;
    const keys = Object.fromEntries(
      owing.map(({ prefix, pending }) => [prefix, Object.fromEntries(pending) as UsageByCategory]),
    );
    const allowances = Object.fromEntries(owing.map((meter) => [meter.prefix, meter.allowances]));
    for (const meter of owing) meter.pending = new Map();
    book.unsent.push({ gateway, sequence: ++book.sequence, month: book.month, keys, allowances });
  }

  /** One conversation at a time per project, so that sequence numbers arrive in order. */
  function tell(book: Book): Promise<void> {
    book.sending ??= (async () => {
      try {
        if (book.unsent.length < UNSENT_MOST) cut(book);
        while (book.unsent.length > 0) {
          const tally = book.unsent[0]!;
          const totals = await ask(Account, book.project, "add", tally, {
            wait_ms: TELL_WAIT_MS,
            id: `${gateway}:${tally.sequence}`,
          });
          book.unsent.shift();
          correct(book, totals);
        }
      } finally {
        book.sending = null;
      }
    })();
    return book.sending;
  }

  /** The actor's numbers, and on top of them what it has not heard of yet. */
  function correct(book: Book, totals: Totals): void {
    if (totals.month !== book.month) return;
    book.loaded = true;
    for (const meter of book.keys.values()) {
      const parts = [
        totals.keys[meter.prefix],
        ...book.unsent.filter(({ month }) => month === book.month).map(({ keys }) => keys[meter.prefix]),
        Object.fromEntries(meter.pending) as UsageByCategory,
      ].map((usage) => usedOf(usage ?? {}));
      meter.used.search = sum(parts, "search") + meter.reserved.search;
      meter.used.fetch = sum(parts, "fetch") + meter.reserved.fetch;
      meter.used.spend_micros = sum(parts, "spend_micros");
    }
  }

  return {
    async open({ key, project }) {
      const book = bookOf(project.name);
      const allowances = { ...key.quotas, spend: key.spend_cap_micros };
      let meter = book.keys.get(key.prefix);
      const fresh = meter === undefined;
      if (meter) meter.allowances = allowances;
      else {
        meter = {
          prefix: key.prefix,
          book,
          used: { search: 0, fetch: 0, spend_micros: 0 },
          reserved: { search: 0, fetch: 0 },
          allowances,
          pending: new Map(),
        };
        book.keys.set(key.prefix, meter);
      }
      const limited = Object.values(allowances).some((limit) => limit !== null);
      if (limited && (fresh || !book.loaded)) {
        this.turn(meter, clock.now());
        correct(book, await ask(Account, book.project, "usage", { month: book.month }));
      }
      return meter;
    },

    turn({ book }, now_ms) {
      if (now_ms < book.ends_ms) return;
      cut(book);
      book.month = monthOf(now_ms);
      book.ends_ms = monthEnds(now_ms);
      for (const { used, reserved } of book.keys.values())
        Object.assign(used, { search: reserved.search, fetch: reserved.fetch, spend_micros: 0 });
    },

    reserve(meter, category) {
      if (category === null) return;
      meter.used[category]++;
      meter.reserved[category]++;
    },

    settle(meter, category, bill) {
      if (category !== null) meter.reserved[category]--;
      if (bill === null) {
        if (category !== null) meter.used[category]--;
        return;
      }
      meter.used.spend_micros += bill.cost_micros;
      let usage = meter.pending.get(bill.category);
      if (!usage) meter.pending.set(bill.category, (usage = { ...NOTHING }));
      usage.requests++;
      usage.bytes += bill.bytes;
      usage.cost_micros += bill.cost_micros;
      if (bill.paid) usage.paid_bytes += bill.bytes;
      if (bill.ok) {
        usage.succeeded++;
        usage.bytes_ok += bill.bytes;
        usage.cost_ok_micros += bill.cost_micros;
        if (bill.paid) usage.paid_bytes_ok += bill.bytes;
      }
      arm();
    },

    async flush(project) {
      const book = books.get(project);
      if (!book) return;
      await book.sending?.catch(() => {});
      await tell(book);
    },

    async drain() {
      await Promise.all(
        [...books.values()].map(async (book) => {
          await this.flush(book.project).catch((problem: Error) => {
            meters.say("error", "Cannot tell the last tallies of a project", {
              project: book.project,
              tallies: book.unsent.length,
              problem: problem.message,
            });
          });
        }),
      );
    },
  };
}

const NOTHING: Usage = {
  requests: 0,
  succeeded: 0,
  bytes: 0,
  bytes_ok: 0,
  paid_bytes: 0,
  paid_bytes_ok: 0,
  cost_micros: 0,
  cost_ok_micros: 0,
};

const sum = (parts: readonly Used[], of: keyof Used): number =>
  parts.reduce((total, part) => total + part[of], 0);
