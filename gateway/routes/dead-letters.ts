/** Messages that the service gave up, for operators: /v1/ops/dead-letters. Not a part of the public API. */
import { Type } from "typebox";
import {
  type DeadLetter,
  listDeadLetters,
  readDeadLetter,
  removeDeadLetter,
  requestRetry,
} from "../../cluster/dead-letters.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Field } from "../../schemas/common.ts";
import { DeadLetterList, type DeadLetterView, WholeDeadLetter } from "../../schemas/operator.ts";
import { json } from "../http-errors.ts";
import { type Route, route } from "../route.ts";

const Params = Type.Object({
  dead_letter_id: Field(Type.Integer({ minimum: 0 }), "The number of the dead letter", 12),
});
const Detail = Type.Object({ detail: Type.String() });

const NONE = json(404, { detail: "dead letter not found" });
const CHANGED = json(409, { detail: "the dead letter changed meanwhile: look at it again" });
const NOT_KEPT = json(409, {
  detail: "the dead letter cannot be sent again: its message was too long to be kept",
});

export function deadLetterRoutes({ documents }: { readonly documents: Documents }): readonly Route[] {
  const one = {
    path: "/v1/ops/dead-letters/{dead_letter_id}",
    tags: ["internal"],
    params: Params,
  };
  const replies = {
    200: { description: "The dead letter", schema: WholeDeadLetter },
    404: { description: "It is not kept, or not any more", schema: Detail },
  };
  const conflict = { 409: { description: "It changed meanwhile, or has no message", schema: Detail } };
  return [
    route({
      method: "GET",
      path: "/v1/ops/dead-letters",
      operationId: "listDeadLetters",
      summary: "Messages that the service gave up, newest first, without their contents",
      description: "At most 500 are kept, for 30 days: a new one replaces the oldest.",
      tags: ["internal"],
      replies: { 200: { description: "At most 500", schema: DeadLetterList } },
      handle: async () => json(200, { dead_letters: (await listDeadLetters(documents)).map(viewOf) }),
    }),
    route({
      ...one,
      method: "GET",
      operationId: "getDeadLetter",
      summary: "One message that the service gave up, with its content",
      replies,
      async handle({ params }) {
        const stored = await readDeadLetter(documents, params.dead_letter_id);
        return stored === null ? NONE : json(200, wholeOf(stored.deadLetter));
      },
    }),
    route({
      ...one,
      method: "POST",
      operationId: "retryDeadLetter",
      summary: "Has a running node send the message again, within a minute",
      description: "It leaves the list when it was taken, and is kept with the new problem otherwise.",
      replies: { ...replies, ...conflict },
      async handle({ params }) {
        const stored = await readDeadLetter(documents, params.dead_letter_id);
        if (stored === null) return NONE;
        if (stored.deadLetter.message === null) return NOT_KEPT;
        if (!(await requestRetry(documents, stored))) return CHANGED;
        return json(200, wholeOf({ ...stored.deadLetter, state: "retry" }));
      },
    }),
    route({
      ...one,
      method: "DELETE",
      operationId: "deleteDeadLetter",
      summary: "Deletes the message for good, and answers what it was",
      replies: { ...replies, ...conflict },
      async handle({ params }) {
        const stored = await readDeadLetter(documents, params.dead_letter_id);
        if (stored === null) return NONE;
        return (await removeDeadLetter(documents, stored)) ? json(200, wholeOf(stored.deadLetter)) : CHANGED;
      },
    }),
  ];
}

function viewOf({ at_ms, message: _message, ...rest }: DeadLetter): DeadLetterView {
  return { ...rest, given_up_at: new Date(at_ms).toISOString() };
}

const wholeOf = (deadLetter: DeadLetter): WholeDeadLetter => ({
  ...viewOf(deadLetter),
  message: deadLetter.message,
});
