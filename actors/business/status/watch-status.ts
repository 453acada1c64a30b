/**
 * Each node reports its figures to the status board every 15 s by default. Gateways judge the answer as well: they look at the stores
 * themselves, so the status is known also while the database, the bus or every worker is away, and they record what they
 * saw in the history, later if it must be.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import {
  BOARD_KEY,
  type Figures,
  type ServiceStatus,
  StatusBoard,
  STATUSES,
  type StatusHistory,
} from "../../../schemas/status.ts";
import { FRESH_PERIODS } from "./board.actor.ts";
import type { ComponentSpec } from "./component.ts";
import { CACHE_OK, DATABASE_OK, OBJECT_STORAGE_OK, WORKERS } from "./components.ts";
import { evaluate, NO_NOTICES, type Notices } from "./evaluate.ts";
import { factsOf, mergeFigures } from "./figures.ts";
import { statusRecorder } from "./status-recorder.ts";

const TIMEOUT_MS = 5_000;
/** So many periods after its start the board knows of every node. */
const COLLECTED_PERIODS = 2;
/** A component whose last node went away is listed for so long: then it is no part of the deployment any more. */
const REMEMBERED_MS = 24 * 3_600_000;
/** A node that starts may find no worker yet: that is no outage. */
const STARTING_MS = 60_000;

export interface StatusWatchDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly ask: ActorClient;
  /** Between two reports of this node. */
  readonly period_ms: number;
  /** The name of this node; it is shown nowhere. */
  readonly node: string;
  /** In the order in which they are listed. */
  readonly specs: readonly ComponentSpec[];
  readonly isWorker: boolean;
  /** The figures of this node. */
  readonly figures: () => Figures;
  /** The figures of the whole cluster; asked by gateways. Must not reject. */
  readonly clusterFigures: () => Promise<Figures>;
  /** Whether each dependency answers, by name; `bus` is the cache of a cluster. */
  readonly checkStores: () => Promise<Readonly<Record<string, boolean>>>;
  readonly readNotices: () => Promise<Notices>;
  /** Whether this node judges; others only report. */
  readonly isGateway: boolean;
}

export interface StatusWatch {
  /** The status as of the last round. */
  readonly current: () => ServiceStatus;
  /** The operator's notices as they were read in the last round, with what ended longer ago than the status shows. */
  readonly notices: () => Notices;
  /** Never rejects: what cannot be read is missing. */
  readonly history: (hours: number) => Promise<StatusHistory>;
  readonly start: () => void;
  readonly close: () => void;
}

export function watchStatus(deps: StatusWatchDeps): StatusWatch {
  const { clock, log, metrics, ask, period_ms, node, specs, isWorker, isGateway } = deps;
  /** When each component was last seen in the deployment. */
  const seen = new Map<string, number>();
  const recorder = statusRecorder({ clock, log, ask });
  let cluster: { readonly figures: Figures; readonly at_ms: number } | null = null;
  let notices: Notices = NO_NOTICES;
  /** Consecutive rounds in which a store did not answer. */
  const failedRounds: Record<string, number> = {};
  let hasReported = false;
  let started_ms = clock.mono();
  let timer: Disposable | null = null;
  let isClosed = false;
  let status = evaluate(deployed(), {}, NO_NOTICES, clock.now());

  function deployed(): readonly ComponentSpec[] {
    const now_ms = clock.mono();
    return specs.filter(
      ({ id, deployed_with }) =>
        deployed_with === null || now_ms - (seen.get(id) ?? -Infinity) < REMEMBERED_MS,
    );
  }

  /** The figures of the cluster as far as they are known; those of this node alone when the board does not answer. */
  async function report(): Promise<Figures> {
    const own: Figures = { ...deps.figures(), [WORKERS]: { sum: isWorker ? 1 : 0 } };
    const now_ms = clock.mono();
    const isKnown = cluster !== null && now_ms - cluster.at_ms < FRESH_PERIODS * period_ms;
    try {
      const message = { node, figures: own };
      const { figures, collected_ms } = await ask(StatusBoard, BOARD_KEY, "report", message, {
        timeout_ms: TIMEOUT_MS,
      });
      hasReported = true;
      const isCollected = collected_ms >= COLLECTED_PERIODS * period_ms;
      if (!isCollected && isKnown) return cluster!.figures;
      if (!isCollected) return withoutWorkers(figures);
      cluster = { figures, at_ms: now_ms };
      return figures;
    } catch (problem) {
      if (!(problem instanceof Fault)) throw problem;
      if (problem.code === "no_workers") return { ...own, [WORKERS]: { sum: 0 } };
      return isKnown ? cluster!.figures : withoutWorkers(own);
    }
  }

  /** A store counts as away when it did not answer in two rounds: one slow answer is no outage. */
  function storeFigures(answers: Readonly<Record<string, boolean>>): Figures {
    const names = { documents: DATABASE_OK, bus: CACHE_OK, object_storage: OBJECT_STORAGE_OK };
    const figures: Record<string, { min: number }> = { [CACHE_OK]: { min: 1 } };
    for (const [store, name] of Object.entries(names)) {
      if (answers[store] === undefined) continue;
      failedRounds[store] = answers[store] ? 0 : (failedRounds[store] ?? 0) + 1;
      figures[name] = { min: failedRounds[store] >= 2 ? 0 : 1 };
    }
    return figures;
  }

  async function round(): Promise<void> {
    const reporting = report();
    if (!isGateway) return void (await reporting);
    const [figures, shared, answers, read] = await Promise.all([
      reporting,
      deps.clusterFigures(),
      deps.checkStores(),
      deps.readNotices().catch(() => notices),
    ]);
    notices = read;
    const facts = factsOf(mergeFigures([figures, shared, storeFigures(answers)]));
    for (const { id, deployed_with } of specs)
      if (deployed_with !== null && facts[deployed_with] !== undefined) seen.set(id, clock.mono());
    status = evaluate(deployed(), facts, notices, clock.now());
    for (const { id, status: of } of status.components)
      metrics.gauge("trawl_component_status", { component: id }, STATUSES.indexOf(of));
    if (hasReported || clock.mono() - started_ms >= STARTING_MS) recorder.observe(status);
    void recorder.record();
  }

  function next(): void {
    if (isClosed) return;
    timer = clock.at(clock.now() + period_ms, run);
  }

  function run(): void {
    void round()
      .catch((problem: unknown) => {
        if (!isClosed) log.warn("Cannot tell the status", { problem: String(problem) });
      })
      .finally(next);
  }

  return {
    current: () => status,
    notices: () => notices,
    history: (hours) =>
      recorder.history(
        status.components.map(({ id }) => id),
        hours,
      ),
    start() {
      started_ms = clock.mono();
      run();
    },
    close() {
      isClosed = true;
      timer?.[Symbol.dispose]();
    },
  };
}

/** Nodes that have not reported yet may be workers. */
function withoutWorkers({ [WORKERS]: _workers, ...figures }: Figures): Figures {
  return figures;
}
