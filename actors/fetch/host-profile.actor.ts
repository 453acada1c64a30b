/**
 * The lessons actor: one per host, beside its domain. It remembers over fetches and nodes what lessons.ts makes of
 * them; a host that taught nothing leaves nothing in the store. It decides no route: ladder.ts does.
 */
import { actor } from "../../cluster/actor.ts";
import { Lessons as Contract } from "../../schemas/fetch.ts";
import { learned, type Lessons, NO_LESSONS, taught, viewOf } from "./host-profile.ts";

export const lessons = () =>
  actor(Contract)<Lessons, Lessons>({
    keep: (state) => state,
    begin: (kept) => kept ?? NO_LESSONS,
    idle_ms: 60_000,
    on: {
      learned: ({ state, now_ms }) => learned(state, now_ms),
      view: ({ state, now_ms }) => viewOf(state, now_ms),
      clear(turn) {
        turn.state = NO_LESSONS;
        return viewOf(turn.state, turn.now_ms);
      },
      observed(turn, observation) {
        turn.state = taught(turn.state, observation, turn.now_ms);
      },
    },
  });
