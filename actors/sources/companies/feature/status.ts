/** Company sources in the public status: a component for each source that is asked, judged by what all nodes recorded. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { StatusPart } from "../../../business/status/feature/tokens.ts";
import type { Figure, Figures } from "../../../../schemas/status.ts";
import { companyComponent } from "../../../business/status/components.ts";
import { pauseFigure, type PauseFigure } from "../../../business/status/paused.ts";
import type { HealthBook } from "../source-health.ts";
import type { Source } from "../source.ts";

export interface CompaniesStatus {
  readonly part: StatusPart;
  readonly onPauseLevel: (source: string, level: number) => void;
  /** Called with the age of the oldest change that had no number in the feed. */
  readonly onFeedLag: (seconds: number) => void;
}

/** A lag that was measured longer ago is not known any more. */
const LAG_KNOWN_MS = 120_000;

export function companiesStatus({
  clock,
  sources,
  health,
}: Pick<Node, "clock"> & {
  readonly sources: readonly Source[];
  readonly health: Pick<HealthBook, "figures">;
}): CompaniesStatus {
  const active = sources.filter(({ inactive_because }) => inactive_because === null);
  const names = active.map(({ description: { name } }) => name);
  const pauses = new Map<string, PauseFigure>();
  let lag: { readonly seconds: number; readonly at_ms: number } | null = null;

  async function clusterFigures(): Promise<Figures> {
    const stored = await health.figures(names).catch(() => null);
    const figures: Record<string, Figure> = {};
    for (const name of names) {
      const id = `company_${name}`;
      const known = stored?.get(name);
      // The component is listed also while the database is away.
      figures[`${id}.requests`] = { max: known?.requests ?? 0 };
      if (!known) continue;
      figures[`${id}.successes`] = { max: known.successes };
      figures[`${id}.parse_failures`] = { max: known.unreadable };
      figures[`${id}.schema_drift`] = { max: known.hasDrift ? 1 : 0 };
      if (known.canaryFailed !== null) figures[`${id}.canary_ok`] = { min: known.canaryFailed ? 0 : 1 };
    }
    return figures;
  }

  return {
    part: {
      components: active.map(({ description: { name, title } }) => companyComponent(name, title)),
      clusterFigures,
      figures() {
        const isKnown = lag !== null && clock.mono() - lag.at_ms < LAG_KNOWN_MS;
        return {
          ...(isKnown && { "companies.change_feed_lag_s": { max: Math.round(lag!.seconds * 10) / 10 } }),
          ...Object.fromEntries(
            [...pauses].map(([name, pause]) => [
              `company_${name}.backoff_active`,
              { max: pause.isActive() ? 1 : 0 },
            ]),
          ),
        };
      },
    },
    onPauseLevel(source, level) {
      const pause = pauses.get(source) ?? pauseFigure(clock);
      pauses.set(source, pause);
      pause.set(level);
    },
    onFeedLag: (seconds) => void (lag = { seconds, at_ms: clock.mono() }),
  };
}
