/**
 * The import actor: one for each source, so that one run of a source writes at a time, wherever it was started. A run is background
 * work; what it has done is stored with its rows. The next owner of the key goes on where the last one stopped.
 */
import { actor, DEFERRED, type ReplyTo, type Turn, type WorkContext } from "../../../../cluster/actor.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import { CompanyImport, type ImportOrder, type ImportReply } from "../../../../schemas/companies.ts";
import type { ImportKind } from "./import-kind.ts";
import { UnreadableFile } from "./file-record.ts";
import { NO_COUNTS, runsOf, type RunDeps, runImport } from "./run-import.ts";
import type { FindNextFile } from "./scheduled-imports.ts";
import { isBaseline } from "./imported-changes.ts";
import type { ImportRun, ImportStore } from "./store.ts";

export interface ImportActorDeps extends RunDeps {
  readonly kinds: readonly ImportKind[];
  readonly nextFile: FindNextFile;
  /** A run is done or has failed. */
  readonly onEnded: () => Promise<void>;
  readonly log: Log;
}

interface State {
  /** Stored: when a run is looked after, also by the next owner of the key; null: there is none. */
  due_ms: number | null;
  isRunning: boolean;
  /** The caller that waits for the number of the run. */
  caller: ReplyTo<ImportReply> | null;
}

type ImportTurn = Turn<State, (typeof CompanyImport)["own"]>;

async function begin(
  { store, files, clock, kinds }: ImportActorDeps,
  source: string,
  order: ImportOrder,
  context: WorkContext,
): Promise<ImportRun> {
  const kind = kinds.find(({ name }) => name === order.kind)!;
  const { sha256, bytes } = await files.digestOf(order.path, context.signal);
  const now_ms = clock.now();
  return store.begin({
    ...order,
    is_baseline: order.is_full && (await isFirst(store, order.kind)),
    source,
    layout: kind.layout,
    sha256,
    bytes,
    licence: kind.licence.id,
    state: "running",
    phase: "rows",
    counts: NO_COUNTS,
    place: 0,
    bytes_read: 0,
    bad_reasons: {},
    indexed_to: "",
    resumed: { at_ms: now_ms, records: 0, bytes: 0 },
    epoch: context.epoch,
    started_ms: now_ms,
    ended_ms: null,
    problem: null,
    warnings: [],
  });
}

/** No earlier run has brought the register companies of this kind, but for a first one that failed. */
async function isFirst(store: ImportStore, kind: string): Promise<boolean> {
  const earlier = await runsOf(store, kind);
  if (earlier.length === 0) return (await store.scan(kind, "", 1)).length === 0;
  return earlier.every((run) => isBaseline(run) && run.state === "failed");
}

export function importActor(deps: ImportActorDeps) {
  const { store, clock, log, kinds } = deps;

  async function unfinished(source: string): Promise<ImportRun | null> {
    return (await store.running()).find((run) => run.source === source) ?? null;
  }

  /** Begins the next file of the schedule, where nothing else is to be done. */
  async function beginNext(source: string, context: WorkContext): Promise<ImportRun | null> {
    const next = await deps.nextFile(source, context.signal);
    if (next === null || !context.ownsKey()) return null;
    const run = await begin(deps, source, next.order, context);
    await next.onBegun();
    return run;
  }

  /** A run that does not end by itself is tried again by the next look. */
  async function goOn(run: ImportRun, context: WorkContext): Promise<void> {
    const kind = kinds.find(({ name }) => name === run.kind);
    try {
      if (kind === undefined || kind.layout !== run.layout)
        throw new UnreadableFile(`This version does not read "${run.kind}" of layout ${run.layout}`);
      const done = await runImport(deps, kind, run, context);
      log.info("A file of companies was imported", { run: done.run, kind: done.kind, ...done.counts });
    } catch (problem) {
      if (!(problem instanceof UnreadableFile)) throw problem;
      log.warn("Cannot import a file of companies", { run: run.run, problem: problem.message });
      const last = (await store.run(run.run)) ?? run;
      const failed: ImportRun = {
        ...last,
        epoch: context.epoch,
        state: "failed",
        ended_ms: clock.now(),
        problem: problem.message,
      };
      await store.commit({ run: failed, rows: [], bad: [] });
    }
  }

  function work(turn: ImportTurn, number: number | null): void {
    const { key, state } = turn;
    state.due_ms = turn.now_ms + LOOK_EVERY_MS;
    state.isRunning = true;
    turn.pipeToSelf("finished", async (_, context) => {
      try {
        const run =
          number === null
            ? ((await unfinished(key)) ?? (await beginNext(key, context)))
            : await store.run(number);
        if (run !== null) {
          await goOn(run, context);
          await deps.onEnded();
        }
      } catch (problem) {
        if (!(problem instanceof Fault || problem instanceof UnreadableFile)) throw problem;
        log.warn("An import of companies goes on later", { source: key, problem: String(problem) });
        return { is_done: false };
      }
      return { is_done: true };
    });
  }

  function look(turn: ImportTurn): void {
    const { state } = turn;
    if (state.isRunning) state.due_ms = turn.now_ms + LOOK_EVERY_MS;
    else work(turn, null);
  }

  return actor(CompanyImport)<State, { readonly due_ms: number | null }>({
    persist: ({ due_ms }) => ({ due_ms }),
    activate: (snapshot) => ({ due_ms: snapshot?.due_ms ?? null, isRunning: false, caller: null }),
    passivate_after_ms: 60_000,
    reminder: ({ due_ms }) => (due_ms === null ? null : { at_ms: due_ms, operation: "look", message: null }),
    on: {
      start(turn, order) {
        const { state, key } = turn;
        if (state.isRunning) return { kind: "busy", run: null, problem: null };
        state.isRunning = true;
        state.caller = turn.deferReply<ImportReply>();
        turn.pipeToSelf("begun", async (_, context) => {
          try {
            const running = await unfinished(key);
            if (running) return { run: running.run, problem: BUSY };
            return { run: (await begin(deps, key, order, context)).run, problem: null };
          } catch (problem) {
            if (problem instanceof Fault || problem instanceof UnreadableFile)
              return { run: null, problem: problem.message };
            throw problem;
          }
        });
        return DEFERRED;
      },
      begun(turn, { run, problem }) {
        const { state } = turn;
        if (state.caller !== null)
          turn.answer(state.caller, {
            kind: problem === null ? "began" : problem === BUSY ? "busy" : "unreadable",
            run,
            problem: problem === BUSY ? null : problem,
          });
        state.caller = null;
        if (run === null) state.isRunning = false;
        else work(turn, run);
      },
      wake(turn) {
        look(turn);
        return null;
      },
      look,
      finished(turn, { is_done }) {
        turn.state.isRunning = false;
        if (is_done) turn.state.due_ms = null;
      },
    },
  });
}

/** The problem of an order while a run that another node left goes on. */
const BUSY = "busy";
const LOOK_EVERY_MS = 10_000;
