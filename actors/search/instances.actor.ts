/**
 * The one actor that knows how the metasearch instances are: asked for the next in turn before each search, told how it
 * went after. What it learned is kept, so a restart does not run into the same 429; whose turn it is, is not.
 * It asks no instance itself.
 */
import { actor } from "../../cluster/actor.ts";
import { Instances } from "../../schemas/search.ts";
import { type Healths, HEALTHY, nextInstance, reported } from "./health.ts";

interface State {
  healths: Healths;
  last: string | null;
}

/** `names` in the order they take turns; the same on all nodes. */
export const instances = (names: readonly string[]) =>
  actor(Instances)<State, Healths>({
    keep: ({ healths }) => healths,
    // What is no longer set up is forgotten with the next thing learned.
    begin: (kept) => ({ healths: kept ?? NONE, last: null }),
    idle_ms: 10 * 60_000,
    on: {
      take(turn, { except }) {
        const { healths, last } = turn.state;
        const instance = nextInstance(names, healths, { last, except, now_ms: turn.now_ms });
        turn.state.last = instance ?? last;
        return { instance };
      },

      report(turn, report) {
        const { healths } = turn.state;
        if (!names.includes(report.instance)) return;
        const before = healths[report.instance] ?? HEALTHY;
        const after = reported(before, report, turn.now_ms);
        if (after === before) return;
        const known = Object.entries(healths).filter(([name]) => names.includes(name));
        turn.state.healths = { ...Object.fromEntries(known), [report.instance]: after };
      },

      view: ({ state, now_ms }) =>
        names.map((instance) => {
          const { until_ms, because } = state.healths[instance] ?? HEALTHY;
          const suspended = until_ms > now_ms;
          return {
            instance,
            suspended_until_ms: suspended ? until_ms : null,
            because: suspended ? because : null,
          };
        }),
    },
  });

const NONE: Healths = {};
