/**
 * The host profile actor: one per host, on the node of its domain. It stores what host-profile.ts concludes from the
 * fetches of the host; for a host without observations nothing is stored. It decides no route: ladder.ts does.
 */
import { actor } from "../../../cluster/actor.ts";
import { HostProfile as Contract } from "../../../schemas/fetch.ts";
import {
  recall,
  type HostProfile,
  EMPTY_PROFILE,
  recordObservation,
  restoreProfile,
  viewOf,
} from "./host-profile.ts";

export const hostProfileActor = () =>
  actor(Contract)<HostProfile, HostProfile>({
    persist: (state) => state,
    activate: (snapshot, { now_ms }) => (snapshot ? restoreProfile(snapshot, now_ms) : EMPTY_PROFILE),
    passivate_after_ms: 60_000,
    on: {
      recall(turn, { segment }) {
        const { advice, profile } = recall(turn.state, segment, turn.now_ms);
        turn.state = profile;
        return advice;
      },
      view: ({ state, now_ms }) => viewOf(state, now_ms),
      clear(turn) {
        turn.state = EMPTY_PROFILE;
        return viewOf(turn.state, turn.now_ms);
      },
      recordObservation(turn, { observation, segment }) {
        turn.state = recordObservation(turn.state, observation, segment, turn.now_ms);
      },
    },
  });
