/**
 * One address of the filing system. It gathers everyone who wants it now, has it asked for once, and answers them all;
 * who wants it otherwise (smaller, fresher) waits until that is done and then mostly finds it kept. How it is asked for
 * is journey.ts.
 */
import { actor, type Held, PARKED, type ReplyTo, type Say, type Turn } from "../../../cluster/actor.ts";
import { FilingAddress, type SourceAnswer, type SourceAsk } from "../../../schemas/filing-source.ts";

interface Caller {
  readonly ask: SourceAsk & { readonly ask_id: string };
  readonly reply: ReplyTo<SourceAnswer>;
}

interface State {
  /** Not kept: callers whose actor moved ask again. */
  callers: readonly Caller[];
  /** What is being asked for, for those with the same variant. */
  flight: { readonly number: number; readonly variant: string } | null;
  begun: number;
}

type Travel = (say: Say, held: Held, ask: SourceAsk, digest: string) => Promise<SourceAnswer>;
type AddressTurn = Turn<State, typeof FilingAddress.operations>;

/** A flight ends by itself at its deadline and says why; this is for those who joined it. */
const GRACE_MS = 500;
/** A caller whose patience outlasts a flight that ran out of time by this much gets one of its own. */
const WORTH_ANOTHER_MS = 1_000;

/** What makes two questions the same one. */
const variantOf = ({ cache_ttl_s, max_bytes, kind, within }: SourceAsk): string =>
  JSON.stringify([cache_ttl_s, max_bytes, kind, within ?? null]);

export const filingAddress = (travel: Travel) =>
  actor(FilingAddress)<State>({
    begin: () => ({ callers: [], flight: null, begun: 0 }),
    idle_ms: 60_000,
    on: {
      get(turn, ask) {
        // Asked again after a lost answer: the new address counts.
        const others = turn.state.callers.filter(({ ask: { ask_id } }) => ask_id !== ask.ask_id);
        turn.state.callers = [...others, { ask, reply: turn.park() }];
        fly(turn, travel);
        return PARKED;
      },

      fetched(turn, { flight: number, answer }) {
        const { flight, callers } = turn.state;
        if (flight?.number !== number) return;
        turn.state.flight = null;
        const isOver = answer.kind === "failed" && answer.error === "timeout";
        const served = callers.filter(
          ({ ask }) =>
            variantOf(ask) === flight.variant &&
            !(isOver && ask.deadline_ms > turn.now_ms + WORTH_ANOTHER_MS),
        );
        for (const { reply } of served) turn.answer(reply, answer);
        turn.state.callers = callers.filter((caller) => !served.includes(caller));
        fly(turn, travel);
      },

      tick: (turn) => fly(turn, travel),
    },
  });

/** Lets the late go, and has what the first of the others wants asked for. */
function fly(turn: AddressTurn, travel: Travel): void {
  const { state, now_ms, key } = turn;
  const isLate = ({ ask }: Caller): boolean => ask.deadline_ms + GRACE_MS <= now_ms;
  for (const { reply } of state.callers.filter(isLate))
    turn.answer(reply, failed("timeout", "The time ran out before the filing system answered", null));
  state.callers = state.callers.filter((caller) => !isLate(caller));
  const [first] = state.callers;
  if (!first) return;
  turn.wake(Math.min(...state.callers.map(({ ask }) => ask.deadline_ms + GRACE_MS)), "tick", null);
  if (state.flight) return;
  const number = state.begun++;
  state.flight = { number, variant: variantOf(first.ask) };
  const digest = key.slice(key.indexOf(" ") + 1);
  const { ask_id: _, ...ask } = first.ask;
  turn.start("fetched", async (say, held) => ({
    flight: number,
    answer: await travel(say, held, ask, digest),
  }));
}

const failed = (error: string, message: string, retry_after_s: number | null): SourceAnswer => ({
  kind: "failed",
  error,
  message,
  retry_after_s,
  status: null,
  redirects: [],
  requests: 0,
});
