/**
 * The source actor: one for each source. It asks the source for its canaries a quarter of an hour after the source was used
 * and was not checked since, so an unused source gets no requests; and at once when the operator asks.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import { CompanySource, type SourceCheck } from "../../../schemas/companies.ts";
import { type AskSourceDeps, askSource } from "./ask-source.ts";
import { canaryProblem } from "./canary.ts";
import type { HealthBook } from "./source-health.ts";
import type { KnownCompany, Source } from "./source.ts";

export interface SourceActorDeps extends AskSourceDeps {
  readonly sources: readonly Source[];
  readonly health: Pick<HealthBook, "record" | "recordCanary">;
}

interface State {
  /** Stored: when the next check is due; null: the source was not used since the last. */
  due_ms: number | null;
  isRunning: boolean;
  callers: ReplyTo<SourceCheck>[];
}

type SourceTurn = Turn<State, (typeof CompanySource)["own"]>;

export const CHECK_EVERY_MS = 15 * 60_000;
/** Its slots come out of the limiter as those of this project. */
const CALLER = { project: "operator", lane: "batch" } as const;
/** A canary is looked up by its identifier alone. */
const UNKNOWN: KnownCompany = { names: [], city: null, country: null, identifiers: [], profiles: [] };

export function sourceActor(deps: SourceActorDeps) {
  const { health } = deps;
  const checking: AskSourceDeps = {
    ...deps,
    health: { record: (source, error) => health.record(source, error, true) },
  };

  const sourceOf = (name: string): Source | undefined =>
    deps.sources.find(({ description }) => description.name === name);

  function start(turn: SourceTurn): void {
    if (turn.state.isRunning) return;
    turn.state.isRunning = true;
    const source = turn.key;
    turn.pipeToSelf("checked", async (_, context) => {
      const problem = await check(source, context);
      // A source without a canary was not asked.
      if (sourceOf(source)?.description.canaries.length !== 0)
        await health.recordCanary(source, problem).catch((fault: unknown) => {
          deps.log.warn("Cannot store the outcome of a canary", { source, problem: String(fault) });
        });
      return { source, problem };
    });
  }

  async function check(name: string, context: Parameters<typeof askSource>[3]): Promise<string | null> {
    const source = sourceOf(name);
    if (!source) return "There is no such source";
    if (source.inactive_because !== null) return source.inactive_because;
    const problems: string[] = [];
    for (const canary of source.description.canaries) {
      const lookup = { source, identifier: canary.identifier, groups: ["core"] as const };
      const problem = canaryProblem(
        canary,
        await askSource(checking, lookup, { caller: CALLER, company: UNKNOWN }, context),
      );
      if (problem !== null) problems.push(problem);
    }
    return problems.length === 0 ? null : problems.join("; ");
  }

  return actor(CompanySource)<State, { readonly due_ms: number | null }>({
    persist: ({ due_ms }) => ({ due_ms }),
    activate: (snapshot) => ({ due_ms: snapshot?.due_ms ?? null, isRunning: false, callers: [] }),
    passivate_after_ms: 60_000,
    reminder: ({ due_ms }) => (due_ms === null ? null : { at_ms: due_ms, operation: "tick", message: null }),
    on: {
      wake(turn) {
        turn.state.due_ms ??= turn.now_ms + CHECK_EVERY_MS;
      },
      check(turn) {
        turn.state.callers.push(turn.deferReply<SourceCheck>());
        start(turn);
        return DEFERRED;
      },
      tick: start,
      checked(turn, outcome) {
        const { state } = turn;
        state.isRunning = false;
        state.due_ms = null;
        for (const caller of state.callers) turn.answer(caller, outcome);
        state.callers = [];
      },
    },
  });
}
