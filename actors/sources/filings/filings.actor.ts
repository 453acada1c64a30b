/**
 * The Filings actor: runs operations of the filings service on the worker that owns the filer, one activation for each
 * filer or question. Operations run side by side; documents that several of them need are requested once (the address
 * actors). A long answer travels as a body.
 */
import { actor, DEFERRED, type ReplyTo } from "../../../cluster/actor.ts";
import { type BodyRefs, bodyRefs } from "../../../cluster/body-refs.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { Filings, type FilingsCall, type FilingsReply } from "../../../schemas/filings.ts";
import { workFields } from "../../lib/work-fields.ts";
import type {
  DocumentFields,
  FilerFields,
  FilingFields,
  LatestFields,
  SearchFields,
  SubmissionsFields,
} from "./parse-request.ts";
import {
  type AnswerOutcome,
  answerReply,
  type CallerContext,
  documentReply,
  type ServiceResult,
} from "./results.ts";
import type { FilingsService } from "./service.ts";

export interface FilingsActorDeps {
  readonly service: FilingsService;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
}

interface State {
  /** Not stored: callers whose actor moved to another node ask again. */
  readonly callers: Map<number, ReplyTo<FilingsReply>>;
  calls: number;
}

const PASSIVATE_AFTER_MS = 60_000;
/** A longer answer does not fit a message (256 KB). */
const INLINE_BYTES = 160 * 1024;
/** How long the body of an answer is kept for the caller that reads it. */
const ANSWER_TTL_MS = 10 * 60_000;

export function filingsActor(deps: FilingsActorDeps) {
  const refs = bodyRefs(deps.documents);
  return actor(Filings)<State>({
    activate: () => ({ callers: new Map(), calls: 0 }),
    passivate_after_ms: PASSIVATE_AFTER_MS,
    on: {
      run(turn, request) {
        const call = turn.state.calls++;
        turn.state.callers.set(call, turn.deferReply<FilingsReply>());
        turn.pipeToSelf("completed", async (_ask, work) => ({
          call,
          reply: await run({ ...deps, refs }, request, work.signal),
        }));
        return DEFERRED;
      },

      completed(turn, { call, reply }) {
        const caller = turn.state.callers.get(call);
        turn.state.callers.delete(call);
        if (caller) turn.answer(caller, reply);
      },
    },
  });
}

/** A Fault is one caller's; the activation serves others. */
async function run(
  deps: FilingsActorDeps & { readonly refs: BodyRefs },
  request: FilingsCall,
  signal: AbortSignal,
): Promise<FilingsReply> {
  const { project, lane, deadline_ms, call_id } = request;
  const caller: CallerContext = { project, lane, deadline_ms, id: call_id, signal };
  const began_ms = deps.clock.now();
  const onEnded = (error: string | null): void =>
    deps.log.debug("A filing operation has ended", {
      ...workFields(call_id),
      op: request.op,
      error,
      ms: Math.round(deps.clock.now() - began_ms),
    });
  try {
    if (request.op === "document") {
      const result = await deps.service.document(request.fields as unknown as DocumentFields, caller);
      onEnded(result.answer.error);
      return documentReply(result);
    }
    const result = await operate(deps.service, request.op, request.fields, caller);
    onEnded(result.answer.error);
    return await replyWith(deps, result, call_id);
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
    return { kind: "fault", code: problem.code, message: problem.message };
  }
}

async function operate(
  service: FilingsService,
  op: Exclude<FilingsCall["op"], "document">,
  fields: FilingsCall["fields"],
  caller: CallerContext,
): Promise<ServiceResult<AnswerOutcome & { readonly filings?: unknown }>> {
  const named = fields as FilerFields;
  switch (op) {
    case "resolve":
      return service.resolve(named, caller);
    case "submissions":
      return service.submissions(named, fields as SubmissionsFields, caller);
    case "latest":
      return service.latest(named, fields as LatestFields, caller);
    case "facts":
      return service.facts(named, caller);
    case "filing":
      return service.filing(fields as unknown as FilingFields, caller);
    case "search":
      return service.search(fields as SearchFields, caller);
  }
}

async function replyWith(
  { blobs, refs, clock }: FilingsActorDeps & { readonly refs: BodyRefs },
  result: ServiceResult<AnswerOutcome & { readonly filings?: unknown }>,
  call_id: string,
): Promise<FilingsReply> {
  const text = jsonOf(result);
  if (text.length <= INLINE_BYTES)
    return answerReply(result, { answer: JSON.parse(text.toString()) as Record<string, unknown> });
  const { sha256 } = await blobs.put(text);
  await refs.retain([sha256], `filings ${call_id}`, clock.now() + ANSWER_TTL_MS);
  return answerReply(result, { answer_sha256: sha256 });
}

/** The answer as JSON; filings that came as JSON from a reader stay as they are. */
function jsonOf({
  answer,
  filings_json,
}: ServiceResult<AnswerOutcome & { readonly filings?: unknown }>): Buffer {
  if (!filings_json) return Buffer.from(JSON.stringify(answer));
  const { filings: _filings, ...rest } = answer;
  const start = `${JSON.stringify(rest).slice(0, -1)},"filings":`;
  return Buffer.concat([Buffer.from(start), filings_json, Buffer.from("}")]);
}
