/**
 * The status board: collects the figures of all nodes, and answers each report with those of the cluster. It stores nothing: after
 * a crash the nodes report again. What the figures mean is decided where they are read.
 */
import { actor } from "../../../cluster/actor.ts";
import { type Figures, StatusBoard } from "../../../schemas/status.ts";
import { mergeFigures } from "./figures.ts";

/** A report older than so many periods, 60 s by default, is left out: its figures are unknown, not zero. */
export const FRESH_PERIODS = 4;

interface State {
  readonly since_ms: number;
  readonly reports: Map<string, { readonly at_ms: number; readonly figures: Figures }>;
}

/** `period_ms`: between two reports of a node. */
export const statusBoardActor = (period_ms: number) =>
  actor(StatusBoard)<State>({
    activate: (_, { now_ms }) => ({ since_ms: now_ms, reports: new Map() }),
    passivate_after_ms: 10 * 60_000,
    on: {
      report({ state: { reports, since_ms }, now_ms }, { node, figures }) {
        for (const [name, { at_ms }] of reports)
          if (now_ms - at_ms >= FRESH_PERIODS * period_ms) reports.delete(name);
        reports.set(node, { at_ms: now_ms, figures });
        const all = [...reports.values()].map((report) => report.figures);
        return { figures: mergeFigures(all), collected_ms: now_ms - since_ms };
      },
    },
  });
