/** Keeps seven days of statuses: gateways record what they saw, and the worst of each bucket stays. */
import { actor } from "../../../cluster/actor.ts";
import { type HistoryRows, StatusHistorian } from "../../../schemas/status.ts";
import { NO_HISTORY, recordObservations } from "./history.ts";

export const statusHistorianActor = () =>
  actor(StatusHistorian)<{ history: HistoryRows }, HistoryRows>({
    persist: ({ history }) => history,
    activate: (snapshot) => ({ history: snapshot ?? NO_HISTORY }),
    passivate_after_ms: 10 * 60_000,
    on: {
      record({ state, now_ms }, { observations }) {
        state.history = recordObservations(state.history, observations, now_ms);
        return null;
      },
      read: ({ state: { history } }) => history,
    },
  });
