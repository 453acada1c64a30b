/**
 * Calls to actors of other nodes that are placed by role, and the calls of other nodes that run here. A call is accepted
 * or refused at once; then questions go to the caller, and the end to the caller, or its cancellation to the runner.
 *
 * Messages may be lost and nodes may die, so both sides of every call ask each other for a sign of life each second: a
 * call that the runner does not know is lost, a run whose caller does not know it is aborted, a question that the caller is
 * not answering has no answer. A node that is not connected
 * any more is noticed by the first of these, one that is silent by the second.
 */
import type {
  Caller,
  CallerSession,
  RoleActor,
  RoleCallOptions,
  RoleLoad,
  RoleReply,
} from "../../role-actor.ts";
import type { Blobs } from "../../ports/blobs.ts";
import type { Clock } from "../../ports/clock.ts";
import { Fault } from "../../ports/fault.ts";
import type { Log } from "../../ports/log.ts";
import type { RoleBus, RoleBusEvents } from "../../ports/role-bus.ts";
import type { Tracing } from "../../ports/tracing.ts";
import type { RoleDirectory } from "./role-directory.ts";
import { decodeReply, encodeReply } from "../../role-wire.ts";
import { assertSize, type CallValidators, callValidatorsOf } from "../transport/wire.ts";

const PULSE_MS = 1_000;
/** So many signs of life in a row may be missing: a busy process answers late. */
const MAX_SILENT = 2;

type Lost = { readonly kind: "lost"; readonly detail: string };
/** `not_taken`: the call has not begun, and another node may take it. */
export type RemoteResult =
  | RoleReply<unknown>
  | Lost
  | { readonly kind: "not_taken"; readonly detail: string };

/** A frame that is sent to a node; `from` is the sender. */
type Frame =
  | { readonly do: "ask"; readonly id: number; readonly question_id: number; readonly question: unknown }
  | { readonly do: "answer"; readonly id: number; readonly question_id: number; readonly answer: unknown }
  | { readonly do: "refuse_answer"; readonly id: number; readonly question_id: number }
  | {
      readonly do: "end";
      readonly id: number;
      readonly result: RoleReply<unknown> | Lost;
      readonly load: RoleLoad;
    }
  | { readonly do: "cancel"; readonly id: number };
type SentFrame = Frame & { readonly from: string };

/** A request to a node, which it answers at once. */
type Request =
  | {
      readonly do: "call";
      readonly from: string;
      readonly id: number;
      readonly role: string;
      readonly operation: string;
      readonly message: unknown;
      readonly timeout_ms: number;
      /** The span of the caller; absent: it traces nothing. */
      readonly traceparent?: string | null | undefined;
    }
  /** The calls that the sender has here, and the runs that it has from here with their open questions. */
  | {
      readonly do: "pulse";
      readonly from: string;
      readonly calls: readonly number[];
      readonly runs: readonly OpenRun[];
    };
interface OpenRun {
  readonly id: number;
  readonly questions: readonly number[];
}
type CallAnswer = { readonly taken: true } | { readonly taken: false; readonly detail: string };
/** Calls and runs of a pulse that the answering node does not know. */
interface PulseAnswer {
  readonly calls: readonly number[];
  readonly runs: readonly number[];
  /** Questions of known runs that this node is not answering, because they or their answers got lost. */
  readonly questions: readonly OpenRun[];
}

interface OutgoingCall {
  readonly to: string;
  readonly role: string;
  readonly session: CallerSession<unknown, unknown>;
  readonly validators: CallValidators;
  /** The questions that the caller is answering. */
  readonly answering: Set<number>;
  /** Taken by the other node; before that it may not know the call. */
  isTaken: boolean;
  readonly end: (result: RemoteResult) => void;
}

interface Run {
  readonly from: string;
  readonly id: number;
  readonly abort: AbortController;
  readonly questions: Map<number, PromiseWithResolvers<unknown>>;
  readonly ended: PromiseWithResolvers<void>;
}

export interface RoleCallsDeps {
  readonly clock: Clock;
  readonly bus: RoleBus;
  readonly blobs: Blobs;
  readonly log: Log;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | undefined;
  readonly nodeName: string;
  readonly directory: RoleDirectory;
  /** By role: those of this node. */
  readonly actors: ReadonlyMap<string, RoleActor>;
}

interface State extends RoleCallsDeps {
  readonly calls: Map<number, OutgoingCall>;
  readonly runs: Map<string, Run>;
  /** By node: how many signs of life in a row it has not given. */
  readonly silent: Map<string, number>;
  nextId: number;
  isDraining: boolean;
}

export interface RoleCalls {
  readonly events: Omit<RoleBusEvents, "onAnnouncement">;
  /** Calls the actor of one other node. Throws Fault message_too_large, bodies_unreachable, body_damaged. */
  readonly call: (
    to: string,
    call: { readonly role: string; readonly operation: string; readonly message: unknown },
    contract: RoleActor["contract"],
    options: RoleCallOptions<unknown, unknown>,
    session: CallerSession<unknown, unknown>,
  ) => Promise<RemoteResult>;
  /** Refuses new calls of other nodes, waits so long for those that run, and aborts the rest. */
  readonly drain: (limit_ms: number) => Promise<void>;
  readonly close: () => void;
}

const runKey = (from: string, id: number): string => `${from} ${id}`;

export function roleCalls(deps: RoleCallsDeps): RoleCalls {
  const state: State = {
    ...deps,
    calls: new Map(),
    runs: new Map(),
    silent: new Map(),
    nextId: 0,
    isDraining: false,
  };
  const { clock } = deps;
  let isClosed = false;
  let timer: Disposable = clock.at(clock.now() + PULSE_MS, pulseRegularly);
  function pulseRegularly(): void {
    void pulse(state).finally(() => {
      if (!isClosed) timer = clock.at(clock.now() + PULSE_MS, pulseRegularly);
    });
  }

  return {
    events: {
      onMessage: (body) => void receiveFrame(state, JSON.parse(body) as SentFrame),
      onRequest: (body) => JSON.stringify(answerRequest(state, JSON.parse(body) as Request)),
    },
    call: (to, what, contract, options, session) => callNode(state, to, what, contract, options, session),
    async drain(limit_ms) {
      state.isDraining = true;
      const limit = Promise.withResolvers<void>();
      const limitTimer = clock.at(clock.now() + limit_ms, limit.resolve);
      await Promise.race([
        limit.promise,
        Promise.all([...state.runs.values()].map(({ ended }) => ended.promise)),
      ]);
      limitTimer[Symbol.dispose]();
      for (const run of state.runs.values())
        endRun(state, run, { kind: "lost", detail: "The node has stopped" });
    },
    close() {
      isClosed = true;
      timer[Symbol.dispose]();
      for (const { end } of state.calls.values()) end({ kind: "lost", detail: "This node has stopped" });
    },
  };
}

async function callNode(
  state: State,
  to: string,
  {
    role,
    operation,
    message,
  }: { readonly role: string; readonly operation: string; readonly message: unknown },
  contract: RoleActor["contract"],
  { signal, deadline_ms }: RoleCallOptions<unknown, unknown>,
  session: CallerSession<unknown, unknown>,
): Promise<RemoteResult> {
  const { clock, bus, directory, nodeName } = state;
  const id = state.nextId++;
  const timeout_ms = Math.max(1, Math.round(deadline_ms - clock.now()));
  const traceparent = state.tracing?.current();
  const call_of = { role, operation, message, timeout_ms, traceparent };
  const request: Request = { do: "call", from: nodeName, id, ...call_of };
  const body = JSON.stringify(request);
  assertSize(`a call of "${contract.name}.${operation}"`, body);
  const ended = Promise.withResolvers<RemoteResult>();
  const validators = callValidatorsOf(contract, operation);
  const answering = new Set<number>();
  const call: OutgoingCall = { to, role, session, validators, answering, isTaken: false, end };
  function end(result: RemoteResult): void {
    if (!state.calls.delete(id)) return;
    signal.removeEventListener("abort", onAbort);
    ended.resolve(result);
  }
  function onAbort(): void {
    if (call.isTaken) sendFrame(state, to, { do: "cancel", id });
    end({ kind: "lost", detail: "The caller has left" });
  }
  if (signal.aborted) return { kind: "lost", detail: "The caller has left" };
  state.calls.set(id, call);
  signal.addEventListener("abort", onAbort, { once: true });
  directory.addCall(to, role);
  bus.request(to, body).then(
    (answer) => {
      if (answer.kind === "answered") {
        const taken = JSON.parse(answer.body) as CallAnswer;
        call.isTaken = taken.taken;
        if (!taken.taken) end({ kind: "not_taken", detail: taken.detail });
        // The caller left while the call was on its way.
        else if (signal.aborted) sendFrame(state, to, { do: "cancel", id });
      } else {
        directory.forget(to);
        // A silent node may have taken it; what it sends about it is not heard any more.
        end({ kind: "not_taken", detail: `The node "${to}" does not answer` });
      }
    },
    () => end({ kind: "not_taken", detail: "The bus does not answer" }),
  );
  const result = await ended.promise;
  if (result.kind !== "done") return result;
  return { kind: "done", reply: await decodeReply(result.reply, state.blobs) };
}

function sendFrame({ bus, nodeName }: State, to: string, frame: Frame): void {
  const body = JSON.stringify({ ...frame, from: nodeName } satisfies SentFrame);
  assertSize(`"${frame.do}" of a call`, body);
  bus.send(to, body);
}

async function receiveFrame(state: State, frame: SentFrame): Promise<void> {
  const { id, from } = frame;
  switch (frame.do) {
    case "ask":
      return answerQuestion(state, frame);
    case "answer":
      return state.runs.get(runKey(from, id))?.questions.get(frame.question_id)?.resolve(frame.answer);
    case "refuse_answer":
      return state.runs
        .get(runKey(from, id))
        ?.questions.get(frame.question_id)
        ?.reject(new Fault("no_answer", "Cannot ask the caller of this call"));
    case "end": {
      const call = state.calls.get(id);
      if (!call || call.to !== from) return;
      state.directory.update(from, call.role, frame.load);
      return call.end(frame.result);
    }
    case "cancel": {
      const run = state.runs.get(runKey(from, id));
      if (run) endRun(state, run, null);
    }
  }
}

async function answerQuestion(
  state: State,
  { id, from, question_id, question }: Extract<SentFrame, { readonly do: "ask" }>,
): Promise<void> {
  const call = state.calls.get(id);
  try {
    if (!call || call.to !== from || !call.validators.question.check(question))
      throw new Fault("no_answer", "This node has no such call");
    call.answering.add(question_id);
    const answer = await call.session.answer(question);
    sendFrame(state, from, { do: "answer", id, question_id, answer });
  } catch {
    // The session has seen the failure; the runner only learns that there is no answer.
    sendFrame(state, from, { do: "refuse_answer", id, question_id });
  } finally {
    call?.answering.delete(question_id);
  }
}

function answerRequest(state: State, request: Request): CallAnswer | PulseAnswer {
  const { from } = request;
  if (request.do === "pulse") {
    const isKnown = ({ id }: OpenRun): boolean => state.calls.get(id)?.to === from;
    return {
      calls: request.calls.filter((id) => !state.runs.has(runKey(from, id))),
      runs: request.runs.filter((run) => !isKnown(run)).map(({ id }) => id),
      questions: request.runs.filter(isKnown).map(({ id, questions }) => ({
        id,
        questions: questions.filter((question) => !state.calls.get(id)!.answering.has(question)),
      })),
    };
  }
  const { id, role, operation, message, timeout_ms, traceparent = null } = request;
  const actor = state.actors.get(role);
  if (state.isDraining) return { taken: false, detail: "The node is draining" };
  if (!actor?.on[operation]) return { taken: false, detail: `The node has no role "${role}"` };
  if (!callValidatorsOf(actor.contract, operation).message.check(message))
    return { taken: false, detail: "The node is of another version" };
  const run: Run = {
    from,
    id,
    abort: new AbortController(),
    questions: new Map(),
    ended: Promise.withResolvers(),
  };
  state.runs.set(runKey(from, id), run);
  const start = (): Promise<void> => runCall(state, run, actor, operation, message, timeout_ms);
  const { tracing } = state;
  const span = { name: `${actor.contract.name}.${operation}`, kind: "server" } as const;
  if (tracing) void tracing.within(traceparent, () => tracing.span(span, start));
  else void start();
  return { taken: true };
}

async function runCall(
  state: State,
  run: Run,
  actor: RoleActor,
  operation: string,
  message: unknown,
  timeout_ms: number,
): Promise<void> {
  const { clock, log, blobs } = state;
  const timer = clock.at(clock.now() + timeout_ms, () =>
    endRun(state, run, { kind: "lost", detail: "The time of the call is over" }),
  );
  try {
    const result = await actor.on[operation]!(message, callerOf(state, run, actor, operation));
    const encoded =
      result.kind === "done" ? { ...result, reply: await encodeReply(result.reply, blobs) } : result;
    endRun(state, run, encoded, actor.load());
  } catch (problem) {
    if (!run.abort.signal.aborted)
      log.warn("A call placed by role failed", { role: actor.contract.name, problem });
    endRun(state, run, { kind: "lost", detail: "The node could not end the call" });
  } finally {
    timer[Symbol.dispose]();
  }
}

/** Ends a run once, whatever comes first; `result` null: its caller has left. */
function endRun(
  state: State,
  run: Run,
  result: RoleReply<unknown> | Lost | null,
  load: RoleLoad | null = null,
): void {
  if (!state.runs.delete(runKey(run.from, run.id))) return;
  run.ended.resolve();
  for (const { reject } of run.questions.values())
    reject(new Fault("no_answer", "Cannot ask the caller of this call: the call has ended"));
  if (result?.kind !== "done") run.abort.abort();
  if (result === null) return;
  const frame = { do: "end", id: run.id, result, load: load ?? IDLE } as const;
  try {
    sendFrame(state, run.from, frame);
  } catch (problem) {
    state.log.warn("Cannot send the end of a call", { problem });
    sendFrame(state, run.from, { ...frame, result: { kind: "lost", detail: "The reply is too large" } });
  }
}

/** Where the load is not known; the node's next announcement says it. */
const IDLE: RoleLoad = { capacity: 1, in_use: 0, waiting: 0, breaker: "closed" };

function callerOf(state: State, run: Run, actor: RoleActor, operation: string): Caller<unknown, unknown> {
  const { clock } = state;
  let questions = 0;
  return {
    signal: run.abort.signal,
    async ask(question, timeout_ms) {
      const question_id = questions++;
      const answered = Promise.withResolvers<unknown>();
      run.questions.set(question_id, answered);
      const timer = clock.at(clock.now() + timeout_ms, () =>
        answered.reject(new Fault("no_answer", "Cannot ask the caller of this call: it takes too long")),
      );
      try {
        if (run.abort.signal.aborted) throw new Fault("no_answer", "The caller of this call has left");
        sendFrame(state, run.from, { do: "ask", id: run.id, question_id, question });
        const answer = await answered.promise;
        if (!callValidatorsOf(actor.contract, operation).answer.check(answer))
          throw new Fault("no_answer", "The caller of this call is of another version");
        return answer;
      } finally {
        timer[Symbol.dispose]();
        run.questions.delete(question_id);
      }
    },
  };
}

/** Asks every node with which this one has a call or a run whether it still knows them. */
async function pulse(state: State): Promise<void> {
  const peers = new Map<string, { readonly calls: number[]; readonly runs: OpenRun[] }>();
  const peer = (name: string) => {
    const known = peers.get(name) ?? { calls: [], runs: [] };
    peers.set(name, known);
    return known;
  };
  for (const [id, { to, isTaken }] of state.calls) if (isTaken) peer(to).calls.push(id);
  for (const { from, id, questions } of state.runs.values())
    peer(from).runs.push({ id, questions: [...questions.keys()] });
  for (const name of state.silent.keys()) if (!peers.has(name)) state.silent.delete(name);
  await Promise.all([...peers].map(([name, { calls, runs }]) => pulseNode(state, name, calls, runs)));
}

async function pulseNode(
  state: State,
  name: string,
  calls: readonly number[],
  runs: readonly OpenRun[],
): Promise<void> {
  const request = { do: "pulse", from: state.nodeName, calls, runs } satisfies Request;
  const reply = await state.bus
    .request(name, JSON.stringify(request))
    .catch(() => ({ kind: "silent" }) as const);
  if (reply.kind === "answered") {
    state.silent.delete(name);
    const unknown = JSON.parse(reply.body) as PulseAnswer;
    loseQuestions(state, name, unknown.questions);
    return loseWith(state, name, unknown.calls, unknown.runs);
  }
  const missed = (state.silent.get(name) ?? 0) + 1;
  state.silent.set(name, missed);
  if (reply.kind === "silent" && missed < MAX_SILENT) return undefined;
  state.silent.delete(name);
  state.directory.forget(name);
  const ids = runs.map(({ id }) => id);
  return loseWith(state, name, calls, ids);
}

function loseQuestions(state: State, name: string, lost: readonly OpenRun[]): void {
  for (const { id, questions } of lost) {
    const run = state.runs.get(runKey(name, id));
    for (const question of questions)
      run?.questions.get(question)?.reject(new Fault("no_answer", "Cannot ask the caller of this call"));
  }
}

function loseWith(state: State, name: string, calls: readonly number[], runs: readonly number[]): void {
  for (const id of calls)
    state.calls.get(id)?.end({ kind: "lost", detail: `The node "${name}" that worked on it is gone` });
  for (const id of runs) {
    const run = state.runs.get(runKey(name, id));
    if (run) endRun(state, run, null);
  }
}
