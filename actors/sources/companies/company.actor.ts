/**
 * The company actor: one for each company. It makes all writes of its company, one task at a time, and callers that want the
 * same share a task. It keeps nothing in memory: every task reads what is stored. The tasks are refresh-company.ts.
 */
import { actor, DEFERRED, type ReplyTo, type Turn } from "../../../cluster/actor.ts";
import { Company, type RefreshAnswer, type RefreshRequest } from "../../../schemas/companies.ts";
import {
  mergeCompany,
  refreshCompany,
  type RefreshDeps,
  splitCompany,
  updateAlias,
} from "./refresh-company.ts";

interface RefreshTask {
  readonly kind: "refresh";
  readonly request: RefreshRequest;
  readonly callers: { readonly request: RefreshRequest; readonly reply: ReplyTo<RefreshAnswer> }[];
}

type Task =
  | RefreshTask
  | { readonly kind: "merge"; readonly survivor: string; readonly shared: string }
  | { readonly kind: "alias"; readonly alias_id: string }
  | { readonly kind: "split"; readonly caller: ReplyTo<{ survivor: string | null }> }
  | {
      readonly kind: "merge_by_operator";
      readonly survivor: string;
      readonly caller: ReplyTo<{ survivor: string | null }>;
    };

interface State {
  /** The first one runs. */
  readonly tasks: Task[];
  /** The result of the task that runs: it may be larger than a message, and it never leaves the process. */
  answer: RefreshAnswer | null;
  /** The survivor of an operator's task: of a split the former one, of a merge the new one. */
  survivor: string | null;
  task_number: number;
  isRunning: boolean;
}

type CompanyTurn = Turn<State, (typeof Company)["own"]>;

const PASSIVATE_AFTER_MS = 60_000;

export function companyActor(deps: RefreshDeps) {
  function startNext(turn: CompanyTurn): void {
    const { state, key } = turn;
    const task = state.tasks[0];
    if (!task || state.isRunning) return;
    state.isRunning = true;
    state.answer = null;
    const number = ++state.task_number;
    turn.pipeToSelf("finished", async (ask, context) => {
      const run = { deps, ask, context, company_id: key };
      switch (task.kind) {
        case "refresh":
          state.answer = await refreshCompany({ ...run, request: task.request });
          break;
        case "merge":
          await mergeCompany(run, task);
          break;
        case "split":
          state.survivor = await splitCompany(run);
          break;
        case "merge_by_operator":
          state.survivor = await mergeCompany(run, { survivor: task.survivor, shared: null });
          break;
        case "alias":
          await updateAlias(run, task.alias_id);
          break;
      }
      return { task: number };
    });
  }

  return actor(Company)<State>({
    activate: () => ({ tasks: [], answer: null, survivor: null, task_number: 0, isRunning: false }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      refresh(turn, request) {
        const { tasks, isRunning } = turn.state;
        const text = JSON.stringify(wanted(request));
        const shared = tasks.find(
          (task, index): task is RefreshTask =>
            task.kind === "refresh" &&
            JSON.stringify(wanted(task.request)) === text &&
            // A task that runs may have read data from before this request, unless it is the same request.
            (index > 0 || !isRunning || isRepeated(task.request, request)),
        );
        const caller = { request, reply: turn.deferReply<RefreshAnswer>() };
        if (shared) shared.callers.push(caller);
        else tasks.push({ kind: "refresh", request, callers: [caller] });
        startNext(turn);
        return DEFERRED;
      },
      split(turn) {
        turn.state.tasks.push({ kind: "split", caller: turn.deferReply() });
        startNext(turn);
        return DEFERRED;
      },
      mergeByOperator(turn, { survivor }) {
        turn.state.tasks.push({ kind: "merge_by_operator", survivor, caller: turn.deferReply() });
        startNext(turn);
        return DEFERRED;
      },
      mergeInto(turn, { survivor, shared }) {
        turn.state.tasks.push({ kind: "merge", survivor, shared });
        startNext(turn);
      },
      aliasChanged(turn, { company_id }) {
        turn.state.tasks.push({ kind: "alias", alias_id: company_id });
        startNext(turn);
      },
      finished(turn) {
        const { state } = turn;
        const task = state.tasks.shift();
        state.isRunning = false;
        if (task?.kind === "refresh" && state.answer) {
          const { answer } = state;
          const payer = payerOf(task);
          for (const caller of task.callers)
            turn.answer(caller.reply, caller === payer ? answer : { ...answer, cost_micros: 0 });
        }
        if (task?.kind === "split" || task?.kind === "merge_by_operator")
          turn.answer(task.caller, { survivor: state.survivor });
        startNext(turn);
      },
    },
  });
}

/** A caller of a request that costs money asked again, because its actor moved to another node. */
const isRepeated = (a: RefreshRequest, b: RefreshRequest): boolean =>
  a.payer !== undefined && a.project === b.project && a.payer.request_id === b.payer?.request_id;

/**
 * The caller that is told the cost, which was spent once. Of a request that was asked again from another node, the last
 * address is the one where its caller still waits.
 */
const payerOf = ({ callers, request }: RefreshTask) =>
  callers.findLast((caller) => isRepeated(caller.request, request)) ?? callers[0];

/** Requests for the same data share a task, whichever project they come from; what costs money only with the same payer. */
const wanted = ({ reference, sources, groups, max_age_s, force, project, payer }: RefreshRequest) => ({
  reference,
  sources,
  groups,
  max_age_s,
  force,
  payer: payer === undefined ? null : `${project} ${payer.key}`,
});
