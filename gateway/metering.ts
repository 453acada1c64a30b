/**
 * What every key used this month: counted here, told to each project's Account actor about once a second, and
 * corrected by what it answers, which includes other gateways. A request is claimed before it runs and settled after,
 * so that many at once cannot pass a quota. What a killed process had not told yet is lost: a second's worth.
 *
 * A gateway that is one of several claims by itself while a quota is far from used up, further than all of them can
 * get before they hear of each other; from there on it asks the actor for each request, so that a quota is exact.
 */
import type { Say } from "../cluster/actor.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Meters } from "../cluster/ports/meters.ts";
import {
  Account,
  type Bill,
  countBill,
  type Counts,
  type Grant,
  monthEnds,
  monthOf,
  NO_USAGE,
  type QuotaCategory,
  type Tally,
  type Totals,
  type Usage,
  type UsageByCategory,
} from "../schemas/accounts.ts";
import type { BILLING_CATEGORIES } from "../schemas/common.ts";
import { type Allowances, type Used, usedOf } from "./limits.ts";

export type Billing = (typeof BILLING_CATEGORIES)[number];

/** One key's account at this gateway. `used` is what the actor last told, and everything seen here since. */
export interface KeyMeter {
  readonly prefix: string;
  readonly book: Book;
  readonly used: Used;
  /** Running here; included in `used`. */
  readonly reserved: Counts;
  /** Running on other gateways, as the actor last told; included in `used`. */
  elsewhere: Counts;
  /** Requests per second that all gateways together let through. */
  rate: number;
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
  /** On the monotonic clock: when what the actor last told was asked for. */
  heard_ms: number;
  /** Whether what runs here has changed since it was last told. */
  changed: boolean;
  waiting: Claim[];
  /** Those whose wish is in the tally with this number. */
  readonly asked: Map<number, readonly Claim[]>;
}

interface Claim {
  readonly meter: KeyMeter;
  readonly category: QuotaCategory;
  readonly resolve: (granted: boolean) => void;
  readonly reject: (problem: unknown) => void;
}

export interface Metering {
  /** The meter of a key; waits for the month's numbers when the key has allowances and none were read yet. */
  open(grant: Grant): Promise<KeyMeter>;
  /** Moves a meter into the month of `now_ms`. Call before reading `used`. */
  turn(meter: KeyMeter, now_ms: number): void;
  /**
   * Takes one request of a key's month, or says that there is none left. A promise only near the end of a quota that
   * several gateways share; it rejects with a Fault. What is claimed must be settled.
   */
  claim(meter: KeyMeter, category: QuotaCategory | null): boolean | Promise<boolean>;
  /** Ends what was claimed; `bill` null: nothing is counted. */
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
  /** Whether other gateways serve the same keys. Default: no. */
  readonly shared?: boolean;
}

const TELL_EVERY_MS = 1000;
const TELL_WAIT_MS = 10_000;
/** What the actor told is believed for so long. */
const FRESH_MS = 2_000;
/**
 * While more than so many seconds of the project's rate are left of a quota, gateways need not ask: what they have not
 * heard of each other is at most FRESH_MS old, TELL_EVERY_MS late and a slow answer away.
 */
const FAR_S = 8;
/** An actor that cannot be reached for this many cuts gets larger tallies, not more of them. */
const MAX_UNSENT = 60;

export function metering({ ask, clock, meters, gateway, shared = false }: Needs): Metering {
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
      heard_ms: -Infinity,
      changed: false,
      waiting: [],
      asked: new Map(),
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
    if (book.unsent.length > 0 || book.changed || book.waiting.length > 0) return true;
    for (const { pending } of book.keys.values()) if (pending.size > 0) return true;
    return false;
  };

  /** Closes what is pending into a tally of the book's month, with what runs and what waits. */
  function cut(book: Book): void {
    const all = [...book.keys.values()];
    const owing = all.filter((meter) => meter.pending.size > 0 || (shared && hasQuota(meter)));
    const news = book.changed || book.waiting.length > 0 || owing.some(({ pending }) => pending.size > 0);
    if (!news) return;
    const keys = Object.fromEntries(
      owing.map(({ prefix, pending }) => [prefix, Object.fromEntries(pending) as UsageByCategory]),
    );
    const allowances = Object.fromEntries(owing.map((meter) => [meter.prefix, meter.allowances]));
    for (const meter of owing) meter.pending = new Map();
    const sequence = ++book.sequence;
    const tally = { gateway, sequence, month: book.month, keys, allowances };
    book.unsent.push(shared ? { ...tally, ...standing(book, owing) } : tally);
    book.changed = false;
    if (book.waiting.length > 0) book.asked.set(sequence, book.waiting);
    book.waiting = [];
  }

  function standing(book: Book, owing: readonly KeyMeter[]): Pick<Tally, "holds" | "wants"> {
    const holds = owing.filter(hasQuota).map(({ prefix, reserved }) => [prefix, { ...reserved }]);
    const wants: Record<string, Counts> = {};
    for (const { meter, category } of book.waiting)
      (wants[meter.prefix] ??= { search: 0, fetch: 0 })[category]++;
    return { holds: Object.fromEntries(holds), wants };
  }

  /** Lets in as many of those who wait as were given, in their order. */
  function admit(claims: readonly Claim[], given: Record<string, Counts>): void {
    const left: Record<string, Counts> = structuredClone(given);
    for (const { meter, category, resolve } of claims) {
      const granted = (left[meter.prefix]?.[category] ?? 0) > 0;
      if (granted) {
        left[meter.prefix]![category]--;
        reserve(meter, category);
      }
      resolve(granted);
    }
  }

  function reserve(meter: KeyMeter, category: QuotaCategory): void {
    meter.used[category]++;
    meter.reserved[category]++;
    if (!shared || meter.allowances[category] === null) return;
    meter.book.changed = true;
    arm();
  }

  /** Whether no gateway can have used up what is left before this one hears of it. */
  const isFar = ({ book, used, rate }: KeyMeter, category: QuotaCategory, limit: number): boolean =>
    limit - used[category] > FAR_S * rate && clock.mono() - book.heard_ms < FRESH_MS;

  /** One conversation at a time per project, so that sequence numbers arrive in order. */
  function tell(book: Book): Promise<void> {
    book.sending ??= (async () => {
      // With nothing to tell it would end, and clear `sending`, before that is set.
      await Promise.resolve();
      try {
        do {
          if (book.unsent.length < MAX_UNSENT) cut(book);
          while (book.unsent.length > 0) {
            const tally = book.unsent[0]!;
            const asked_ms = clock.mono();
            const added = await ask(Account, book.project, "add", tally, {
              wait_ms: TELL_WAIT_MS,
              id: `${gateway}:${tally.sequence}`,
            });
            book.unsent.shift();
            book.heard_ms = asked_ms;
            correct(book, added, added.elsewhere);
            admit(book.asked.get(tally.sequence) ?? [], added.given);
            book.asked.delete(tally.sequence);
          }
        } while (book.waiting.length > 0);
      } catch (problem) {
        // What is given when the tally is heard after all, nobody takes: the next one says so.
        for (const claims of [...book.asked.values(), book.waiting])
          for (const { reject } of claims) reject(problem);
        book.asked.clear();
        book.waiting = [];
        book.changed = shared;
        throw problem;
      } finally {
        book.sending = null;
      }
    })();
    return book.sending;
  }

  /** The actor's numbers, and on top of them what it has not heard of yet. */
  function correct(book: Book, totals: Totals, elsewhere: Record<string, Counts> = {}): void {
    if (totals.month !== book.month) return;
    book.loaded = true;
    for (const meter of book.keys.values()) {
      meter.elsewhere = elsewhere[meter.prefix] ?? NOBODY;
      const parts = [
        totals.keys[meter.prefix],
        ...book.unsent.filter(({ month }) => month === book.month).map(({ keys }) => keys[meter.prefix]),
        Object.fromEntries(meter.pending) as UsageByCategory,
      ].map((usage) => usedOf(usage ?? {}));
      meter.used.search = sum(parts, "search") + meter.reserved.search + meter.elsewhere.search;
      meter.used.fetch = sum(parts, "fetch") + meter.reserved.fetch + meter.elsewhere.fetch;
      meter.used.spend_micros = sum(parts, "spend_micros");
    }
  }

  return {
    async open({ key, project }) {
      const book = bookOf(project.name);
      const allowances = { ...key.quotas, spend: key.spend_cap_micros };
      let meter = book.keys.get(key.prefix);
      const fresh = meter === undefined;
      if (meter) Object.assign(meter, { allowances, rate: project.rate_limit_rps });
      else {
        meter = {
          prefix: key.prefix,
          book,
          rate: project.rate_limit_rps,
          elsewhere: NOBODY,
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
      for (const { used, reserved, elsewhere } of book.keys.values())
        Object.assign(used, {
          search: reserved.search + elsewhere.search,
          fetch: reserved.fetch + elsewhere.fetch,
          spend_micros: 0,
        });
    },

    claim(meter, category) {
      if (category === null) return true;
      const limit = meter.allowances[category];
      if (limit === null || !shared || isFar(meter, category, limit)) {
        if (limit !== null && meter.used[category] >= limit) return false;
        reserve(meter, category);
        return true;
      }
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      meter.book.waiting.push({ meter, category, resolve, reject });
      // Those who wait are told what went wrong.
      tell(meter.book).catch(() => arm());
      return promise;
    },

    settle(meter, category, bill) {
      if (category !== null) {
        meter.reserved[category]--;
        if (shared && meter.allowances[category] !== null) {
          meter.book.changed = true;
          arm();
          // It is free again, and others may be refused for it.
          if (bill === null) void tell(meter.book).catch(() => arm());
        }
      }
      if (bill === null) {
        if (category !== null) meter.used[category]--;
        return;
      }
      meter.used.spend_micros += bill.cost_micros;
      let usage = meter.pending.get(bill.category);
      if (!usage) meter.pending.set(bill.category, (usage = { ...NO_USAGE }));
      countBill(usage, bill);
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

const NOBODY: Counts = { search: 0, fetch: 0 };
const hasQuota = ({ allowances: { search, fetch } }: KeyMeter): boolean => search !== null || fetch !== null;

const sum = (parts: readonly Used[], of: keyof Used): number =>
  parts.reduce((total, part) => total + part[of], 0);
