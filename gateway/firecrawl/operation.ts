/** An operation of theirs as a route: its body read, its answer 200, its refusals in their form. */
import { Type } from "typebox";
import { askingWithin } from "../asking-within.ts";
import type { Head } from "../http.ts";
import { json } from "../http-errors.ts";
import type { ApiAnswer, ApiRequest, AskApi } from "../mcp/api.ts";
import { type Method, type Route, route } from "../route.ts";
import { errorReply, JOB_NOT_FOUND, refusalAs, Refused, refusalOf } from "./errors.ts";
import type { Given } from "./option.ts";

export interface TheirCall {
  readonly ask: AskApi;
  /** This service as the client reaches it, without a slash at the end. */
  readonly base: string;
  readonly head: Head;
  readonly request_id: string;
  readonly id: string;
  /** Id of a monitor's check. */
  readonly check: string;
  readonly now_ms: number;
  readonly skip: number;
  readonly offset: number;
  readonly limit?: number;
  readonly status?: string;
  readonly body: Given;
}

export interface FirecrawlDeps {
  /** Where the operator says it, without a slash at the end; null: as the client's Host field has it. */
  readonly public_url: string | null;
  readonly scheme: "http" | "https";
}

interface Operation {
  readonly method: Method;
  /** With `{id}` for the id of a job or a monitor. */
  readonly path: string;
  /** Read page by page. */
  readonly isList?: boolean;
  readonly operationId: string;
  readonly summary: string;
  /** Throws Refused. */
  readonly answer: (call: TheirCall) => Promise<object>;
}

/** The largest is a list of 50,000 addresses. */
const MAX_BYTES = 16_777_216;
const Body = Type.Record(Type.String(), Type.Unknown());
const Query = Type.Object({
  skip: Type.Integer({ minimum: 0, default: 0 }),
  offset: Type.Integer({ minimum: 0, default: 0 }),
  limit: Type.Optional(Type.Integer({ minimum: 1 })),
  status: Type.Optional(Type.String()),
});
const Id = Type.String({ maxLength: 100 });
const refusal = (description: string) => ({ description, schema: Body });

export const operation =
  ({ public_url, scheme }: FirecrawlDeps) =>
  ({ answer, isList = false, ...about }: Operation): Route =>
    route({
      ...about,
      tags: ["firecrawl"],
      audience: "protocols",
      refusalAs,
      ...(about.path.includes("{id}") && {
        params: about.path.includes("{check}") ? Type.Object({ id: Id, check: Id }) : Type.Object({ id: Id }),
      }),
      ...((about.path.includes("{id}") || isList) && { query: Query }),
      ...(about.method.startsWith("P") && {
        body: Body,
        limit_bytes: MAX_BYTES,
        too_large: "a body has at most 16 MiB",
      }),
      replies: {
        200: { description: "As Firecrawl's API has it", schema: Body },
        400: refusal("A wrong or unknown option, or one that is not served"),
        402: refusal("A quota, a budget or a cap is used up"),
        403: refusal("The site or its address may not be asked"),
        404: refusal("No such job"),
        408: refusal("The time was over"),
        500: refusal("The page could not be fetched"),
      },
      handle: async (call: any) => {
        const { head, request_id, params, query, body, now_ms } = call;
        const base = public_url ?? `${scheme}://${head.headers.get("host") ?? "localhost"}`;
        try {
          const ask = askingWithin(call.askWithin);
          return json(
            200,
            await answer({
              ask,
              base,
              head,
              request_id,
              id: params?.id ?? "",
              check: params?.check ?? "",
              now_ms,
              skip: query?.skip ?? 0,
              offset: query?.offset ?? 0,
              limit: query?.limit,
              status: query?.status,
              body: body ?? {},
            }),
          );
        } catch (problem) {
          if (problem instanceof Refused) return errorReply(problem.answer);
          throw problem;
        }
      },
    });

/** The content of a successful answer. Throws Refused. */
export const contentOf = async (ask: AskApi, request: ApiRequest): Promise<any> =>
  contentIn(await ask(request));

/** Throws Refused. */
export function contentIn(answer: ApiAnswer): any {
  if (answer.status < 300) return answer.content;
  throw new Refused(refusalOf(answer));
}

/** The content of a successful answer about a job. A job that does not exist, or is another project's, is not found whatever its id looks like. Throws Refused. */
export async function jobContentOf(ask: AskApi, request: ApiRequest): Promise<any> {
  const answer = await ask(request);
  if (answer.status === 404 || answer.status === 422) throw JOB_NOT_FOUND();
  return contentIn(answer);
}
