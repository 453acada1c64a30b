/**
 * The Frontier actor: the addresses of one crawl, beside the Job actor of the same key. Pages tell it their links before their results
 * are stored, and the job asks it for the next addresses; it answers only after its record says so, so nothing is lost and
 * nothing comes twice, whenever the node dies. It never fetches.
 */
import { actor, DEFERRED } from "../../../../cluster/actor.ts";
import type { ReplyOf } from "../../../../cluster/contracts/contract.ts";
import { type AddressRow, Frontier } from "../../../../schemas/crawl.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { keyOfText } from "../address/key.ts";
import { ADMITTED, WAITING } from "./addresses.ts";
import { changed, withChange } from "./changes.ts";
import { discover } from "./discover.ts";
import { recognise } from "./duplicates.ts";
import { fullChunks, hasToFlush, load, storeChunks, withoutChunks } from "./load.ts";
import { redirected } from "./redirected.ts";
import {
  type FrontierRecord,
  NEW_RECORD,
  orderOf,
  ORDER_IN_CHUNK,
  type RowChange,
  ROWS_IN_CHUNK,
  rowsOf,
} from "./record.ts";
import type { Asked, FrontierServices, FrontierState, FrontierTurn, Loaded } from "./state.ts";

type Next = ReplyOf<typeof Frontier.operations.next>;
type Learnt = ReplyOf<typeof Frontier.operations.discover>;
type NextRequest = Extract<Asked, { operation: "next" }>["message"];

/** Characters of the addresses in one answer. */
const MAX_REPLY_CHARS = 100_000;
/** While the store takes no chunks, no more than this waits in the record, in characters; then pages try again. */
const MAX_TAIL_CHARS = 4_000_000;
/** Judged in one turn, beside those of the message that exceeds it: some milliseconds. */
const MAX_LINKS_IN_TURN = 1_000;
/** Characters of a row, beside its addresses. */
const ROW_CHARS = 80;
/** Characters of what is known of a page that was fetched, beside its canonical address. */
const SEEN_CHARS = 120;

export function frontierActor(services: FrontierServices) {
  return actor(Frontier)<FrontierState, FrontierRecord | null>({
    persist: ({ record }) => record,
    activate: (record) => ({
      record,
      loaded: null,
      slot: { loaded: null },
      isLoading: false,
      isDraining: false,
      flushing: null,
      queue: [],
      acknowledged: 0,
    }),
    passivate_after_ms: 60_000,
    on: {
      discover: (turn, message) => enqueue(services, turn, { operation: "discover", message }),
      next: (turn, message) => enqueue(services, turn, { operation: "next", message }),

      loaded(turn, { problem }) {
        const { state, now_ms } = turn;
        state.isLoading = false;
        state.loaded = state.slot.loaded;
        state.slot.loaded = null;
        if (state.loaded && rowsOf(state.record!) === 0) sow(state, state.loaded, now_ms);
        if (state.loaded) drain(services, turn);
        else for (const { to } of state.queue.splice(0)) turn.answer(to, { ...NOTHING, problem });
      },

      due(turn) {
        turn.state.isDraining = false;
        if (turn.state.loaded) drain(services, turn);
      },

      flushed(turn, { problem, ...full }) {
        const { state } = turn;
        const written = state.flushing!;
        state.flushing = null;
        if (problem !== null)
          services.log.warn("Cannot store addresses of a crawl", { job_id: turn.key, problem });
        else if (state.record) {
          state.record = withoutChunks(state.record, written, full);
          flush(services, turn);
        }
      },

      forget(turn) {
        const { state } = turn;
        for (const { to } of state.queue.splice(0)) turn.answer(to, { ...NOTHING, problem: "it is purged" });
        state.record = null;
        state.loaded = null;
        return null;
      },
    },
  });
}

const NOTHING: Next = { problem: null, admitted: [], is_over: false, discovered: 0, excluded: 0 };

/**
 * A request waits for a turn of its own, which comes behind the messages that are in the mailbox by then: while a record is
 * stored others arrive, and all of them are carried out, and stored, together.
 */
function enqueue(services: FrontierServices, turn: FrontierTurn, asked: Asked): typeof DEFERRED {
  const { state } = turn;
  state.queue.push({ ...asked, to: turn.deferReply() });
  if (state.loaded) scheduleDrain(turn);
  else startLoad(services, turn);
  return DEFERRED;
}

function scheduleDrain(turn: FrontierTurn): void {
  if (turn.state.isDraining) return;
  turn.state.isDraining = true;
  turn.pipeToSelf("due", async () => null);
}

function startLoad(services: FrontierServices, turn: FrontierTurn): void {
  const { state, key } = turn;
  if (state.isLoading) return;
  state.isLoading = true;
  state.record ??= NEW_RECORD;
  const { record, slot } = state;
  turn.pipeToSelf("loaded", async () => {
    try {
      slot.loaded = await load(services, key, record);
      return { problem: null };
    } catch (problem) {
      return { problem: String(problem) };
    }
  });
}

/** Carries out what waits, up to a number of links; the rest has a turn of its own. */
function drain(services: FrontierServices, turn: FrontierTurn): void {
  const { queue } = turn.state;
  let links = 0;
  while (queue.length > 0 && links < MAX_LINKS_IN_TURN) {
    const { to, ...asked } = queue.shift()!;
    if (asked.operation === "discover") links += asked.message.links.length;
    turn.answer(to, handle(services, turn, asked));
  }
  if (queue.length > 0) scheduleDrain(turn);
}

function handle(services: FrontierServices, turn: FrontierTurn, asked: Asked): Next & Learnt {
  const { state, now_ms } = turn;
  const loaded = state.loaded!;
  if (asked.operation === "discover" && charsOf(state.record!) > MAX_TAIL_CHARS)
    return { ...NOTHING, problem: "its addresses wait to be stored" };
  const reply =
    asked.operation === "discover"
      ? learn(state, loaded, asked.message, now_ms)
      : next(state, loaded, asked.message);
  flush(services, turn);
  return reply;
}

const charsOf = ({ rows, changes }: FrontierRecord): number =>
  [...rows.tail, ...Object.values(changes ?? {})].reduce(
    (chars, { url, found_on, redirected_to, seen }) =>
      chars +
      (url?.length ?? 0) +
      (found_on?.length ?? 0) +
      (redirected_to?.length ?? 0) +
      (seen ? SEEN_CHARS + (seen.canonical?.length ?? 0) : 0) +
      ROW_CHARS,
    0,
  );

/** The seeds, once, and where their sites say which sitemaps they have. */
function sow(state: FrontierState, loaded: Loaded, now_ms: number): void {
  const { seeds, rules } = loaded;
  const urls = seeds.flatMap((seed) => parseUrl(seed) ?? []);
  const links = [
    ...(rules.sitemap === "only" ? [] : seeds.map((url) => ({ url }))),
    ...(rules.sitemap === "skip"
      ? []
      : urls.map(({ origin }) => ({ url: `${origin}/robots.txt`, sitemap: true }))),
  ];
  state.record = discover(state.record!, loaded, { found_on: null, depth: 0, links }, now_ms);
}

function learn(
  state: FrontierState,
  loaded: Loaded,
  {
    depth,
    redirected_to,
    seen,
    sitemap_error,
    ...found
  }: Extract<Asked, { operation: "discover" }>["message"],
  now_ms: number,
): Next & Learnt {
  const from = found.found_on;
  if (redirected_to !== undefined)
    state.record = redirected(state.record!, loaded, {
      from,
      depth,
      to: redirected_to,
      sitemap: found.listed === true,
    });
  if (sitemap_error !== undefined) {
    const { addresses, rules } = loaded;
    const own = addresses.find(keyOfText(from, rules));
    if (own >= 0) state.record = withChange(state.record!, own, { sitemap_error });
  }
  state.record = discover(state.record!, loaded, { ...found, depth: depth + 1 }, now_ms);
  if (seen === undefined) return NOTHING;
  const { record, original } = recognise(state.record, loaded, { from, at: redirected_to ?? from, seen });
  state.record = record;
  if (original === null) return NOTHING;
  const [admitted] = withRows(record, [original.ordinal]);
  return { ...NOTHING, duplicate: { ...admitted!, reason: original.reason } };
}

/**
 * Addresses that the job was given behind `have` and does not have, and then the next ones. With `max_depth`, addresses of a depth are given when
 * all pages of the depths before have ended: the depth of each is the smallest then, whichever page answers first.
 */
function next(state: FrontierState, loaded: Loaded, { have, want, ended }: NextRequest): Next {
  state.acknowledged = Math.max(state.acknowledged, have);
  const { rules, waiting, addresses } = loaded;
  const first = have - state.record!.order.chunks * ORDER_IN_CHUNK;
  const again = state.record!.order.tail.slice(first, first + want);
  const fresh: number[] = [];
  const isWaiting = (ordinal: number): boolean => addresses.statusOf(ordinal) === WAITING;
  let open_depth = rules.max_depth !== null && ended < orderOf(state.record!) ? loaded.deepest : Infinity;
  const left = Math.min(want - again.length, rules.limit - orderOf(state.record!));
  while (fresh.length < left) {
    const taken = waiting.take(open_depth, isWaiting);
    if (taken === null) break;
    addresses.setStatus(taken.ordinal, ADMITTED);
    fresh.push(taken.ordinal);
    loaded.deepest = Math.max(loaded.deepest, taken.depth);
    if (rules.max_depth !== null) open_depth = loaded.deepest;
  }
  if (fresh.length > 0) {
    const { order } = state.record!;
    state.record = { ...state.record!, order: { ...order, tail: [...order.tail, ...fresh] } };
  }
  const isFull = orderOf(state.record!) >= rules.limit;
  const admitted = withRows(state.record!, [...again, ...fresh]);
  return {
    problem: null,
    admitted,
    is_over: (isFull || waiting.count() === 0) && have + admitted.length === orderOf(state.record!),
    discovered: addresses.count(),
    excluded: loaded.excluded + (isFull ? waiting.count() : 0),
  };
}

/** As many as an answer holds: the job asks for the others next. */
function withRows({ rows, changes }: FrontierRecord, ordinals: readonly number[]): Next["admitted"] {
  const admitted: Next["admitted"] = [];
  let chars = 0;
  for (const ordinal of ordinals) {
    const row = rowOf(rows.tail[ordinal - rows.chunks * ROWS_IN_CHUNK], changes?.[ordinal]);
    chars += row === null ? 0 : row.url.length + (row.found_on?.length ?? 0);
    if (chars > MAX_REPLY_CHARS && admitted.length > 0) break;
    admitted.push({ ordinal, row });
  }
  return admitted;
}

/** Null: the chunk has it. */
function rowOf(row: AddressRow | undefined, change: RowChange | undefined): AddressRow | null {
  if (row !== undefined) return changed(row, change);
  if (change?.reason !== null) return null;
  const { reason: _, ...revoked } = change;
  return revoked as AddressRow;
}

/** Stores full chunks in background work; the record gives them up afterwards. */
function flush({ documents }: FrontierServices, turn: FrontierTurn): void {
  const { state, key } = turn;
  const record = state.record!;
  const full = fullChunks(record, state.acknowledged);
  if (state.flushing !== null || !hasToFlush(record, full)) return;
  state.flushing = record;
  turn.pipeToSelf("flushed", async () => {
    try {
      await storeChunks(documents, key, record, full);
      return { ...full, problem: null };
    } catch (problem) {
      return { rows: 0, order: 0, problem: String(problem) };
    }
  });
}
