/**
 * Asks an OpenAI-compatible address of the operator's one question: bounded in time and size, without redirects, asked again where its
 * server is busy.
 */
import { type Clock, pause } from "../../../../cluster/ports/clock.ts";
import { type Egress, EgressError, type Exchange } from "../../../../cluster/ports/egress.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { retryAfterSeconds } from "../../../lib/web/http.ts";
import { withoutTrailingSlash } from "../../../lib/web/url.ts";
import { wholeBody } from "../../../lib/whole-body.ts";
import type { Message } from "./prompt.ts";

export interface ChatModel {
  /** Base address of the API, for example https://api.openai.com/v1 */
  readonly url: string;
  /** Goes into the request, and nowhere else. */
  readonly key: string | null;
  readonly model: string;
}

interface Tokens {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

export type ChatAnswer =
  | {
      readonly kind: "answered";
      readonly content: string;
      readonly is_cut: boolean;
      readonly is_refused: boolean;
      /** Null: the server does not say, or nothing sensible. */
      readonly tokens: Tokens | null;
    }
  | {
      readonly kind: "failed";
      readonly reason: "model_unavailable" | "model_timeout" | "model_answer_invalid";
      /** The model may have been at work: a request was sent, and no status refused it. */
      readonly may_have_cost: boolean;
      /** For the log: what happened, without anything that was sent. */
      readonly detail: string;
    };
type ChatFailure = Extract<ChatAnswer, { kind: "failed" }>;

/** The server has said no; nothing was generated. */
interface Refusal {
  readonly kind: "refused";
  readonly status: number;
  readonly retry_after_s: number | null;
  /** The field of the request that it is about, where its body says so (`error.param`, as OpenAI does). */
  readonly param: string | null;
}

/** Parameters that the model of this connection takes: learned from refusals. */
interface Dialect {
  readonly limit: "max_tokens" | "max_completion_tokens";
  readonly has_temperature: boolean;
}

export interface Chat {
  readonly model: string;
  /** Ends with `signal`, and begins no pause that would end after `deadline_ms`. */
  readonly ask: (
    messages: readonly Message[],
    answer: { readonly schema: object; readonly max_tokens: number },
    until: { readonly signal: AbortSignal; readonly deadline_ms: number },
  ) => Promise<ChatAnswer>;
}

const BODY_BYTES = 2 ** 20;
const TOKENS_SAID_MAX = 10_000_000;
const BUSY: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const AGAIN_MAX = 2;
const PAUSE_MS = 1_000;
/** How servers say that they do not know a form of the answer. */
const UNKNOWN_FORM: ReadonlySet<number> = new Set([400, 404, 415, 422, 501]);

export function chatWith(egress: Egress, connection: ChatModel, clock: Pick<Clock, "now" | "at">): Chat {
  const { model } = connection;
  let dialect: Dialect = { limit: "max_tokens", has_temperature: true };
  return {
    model,
    async ask(messages, { schema, max_tokens }, { signal, deadline_ms }) {
      const json_schema = { name: "values", schema, strict: true };
      let response_format: object = { type: "json_schema", json_schema };
      for (let again = 0, isSchemaKnown = true; ;) {
        const used = dialect;
        const { limit, has_temperature } = used;
        const options = { [limit]: max_tokens, ...(has_temperature && { temperature: 0 }), response_format };
        const said = await askOnce(egress, connection, { model, messages, ...options }, clock, signal);
        if (said.kind !== "refused") return said;
        const learned = learnedFrom(said, used);
        if (learned !== null) {
          // Another question may have learned something else meanwhile.
          dialect = { ...dialect, ...learned };
          continue;
        }
        if (isSchemaKnown && UNKNOWN_FORM.has(said.status)) {
          // The messages have the schema as well, and the answer is checked.
          isSchemaKnown = false;
          response_format = { type: "json_object" };
          continue;
        }
        const pause_ms = pauseAfter(said, again);
        if (pause_ms === null || clock.now() + pause_ms >= deadline_ms) return refusedBy(said);
        again += 1;
        await pause(clock, pause_ms, signal);
      }
    },
  };
}

/** Models that think take no temperature, and call their limit otherwise. Null: the refusal is about something else. */
function learnedFrom({ param }: Refusal, used: Dialect): Partial<Dialect> | null {
  if (param === "max_tokens" && used.limit === "max_tokens") return { limit: "max_completion_tokens" };
  return param === "temperature" && used.has_temperature ? { has_temperature: false } : null;
}

/** Milliseconds until the same may be asked again; null: it is not. */
export function pauseAfter(
  { status, retry_after_s }: Pick<Refusal, "status" | "retry_after_s">,
  again: number,
): number | null {
  if (!BUSY.has(status) || again >= AGAIN_MAX) return null;
  return retry_after_s === null ? PAUSE_MS * 2 ** again : retry_after_s * 1_000;
}

const refusedBy = ({ status }: Refusal): ChatFailure => ({
  kind: "failed",
  reason: "model_unavailable",
  may_have_cost: false,
  detail: `HTTP ${status}`,
});

async function askOnce(
  egress: Egress,
  { url, key }: ChatModel,
  body: object,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<ChatAnswer | Refusal> {
  let may_have_cost = false;
  const failed = (problem: string): ChatFailure => ({
    kind: "failed",
    reason: problem === "timeout" || problem === "aborted" ? "model_timeout" : "model_unavailable",
    may_have_cost,
    detail: problem,
  });
  try {
    const exchange = await egress.exchange({
      url: `${withoutTrailingSlash(url)}/chat/completions`,
      method: "POST",
      headers: [["Content-Type", "application/json"], ["Accept", "application/json"], ...authorized(key)],
      body: Buffer.from(JSON.stringify(body)),
      signal,
      headers_timeout_ms: 120_000,
      beforeSend: () => (may_have_cost = true),
    });
    return exchange.kind === "failed" ? failed(exchange.problem) : await saidIn(exchange, clock);
  } catch (problem) {
    if (problem instanceof EgressError) return failed(problem.problem);
    if (problem instanceof Fault) return failed(problem.code);
    throw problem;
  }
}

/** The field with the key; none without one. */
export const authorized = (key: string | null): readonly (readonly [string, string])[] =>
  key === null ? [] : [["Authorization", `Bearer ${key}`]];

async function saidIn(
  { status, headers, body, cancel }: Extract<Exchange, { kind: "answered" }>,
  clock: Pick<Clock, "now">,
): Promise<ChatAnswer | Refusal> {
  const retry_after_s = retryAfterSeconds(headers.get("retry-after")?.[0], clock.now());
  if (status === 400)
    return { kind: "refused", status, retry_after_s, param: paramIn(jsonOf(await bodyOf(body))) };
  if (status !== 200) {
    cancel();
    return { kind: "refused", status, retry_after_s, param: null };
  }
  const bytes = await bodyOf(body);
  return bytes === null ? invalid(`more than ${BODY_BYTES} bytes`) : answerIn(bytes);
}

const invalid = (detail: string): ChatFailure => ({
  kind: "failed",
  reason: "model_answer_invalid",
  may_have_cost: true,
  detail,
});

/** Null: it is too large. */
export const bodyOf = (body: AsyncIterable<Buffer>): Promise<Buffer | null> => wholeBody(body, BODY_BYTES);

interface Completion {
  readonly choices?: readonly {
    readonly message?: { readonly content?: unknown; readonly refusal?: unknown };
    readonly finish_reason?: unknown;
  }[];
  readonly usage?: Readonly<Record<string, unknown>> | null;
}

/** Null: it is no JSON. */
export function jsonOf(bytes: Buffer | null): unknown {
  try {
    return JSON.parse(bytes?.toString() ?? "null");
  } catch {
    return null;
  }
}

function paramIn(refusal: unknown): string | null {
  const { error } = (refusal ?? {}) as { readonly error?: { readonly param?: unknown } | null };
  return typeof error?.param === "string" ? error.param : null;
}

function answerIn(bytes: Buffer): ChatAnswer {
  const completion = jsonOf(bytes) as Completion | null;
  const choice = Array.isArray(completion?.choices) ? completion.choices[0] : undefined;
  if (!choice?.message) return invalid("no completion");
  const { content, refusal } = choice.message;
  return {
    kind: "answered",
    content: typeof content === "string" ? content : "",
    is_cut: choice.finish_reason === "length",
    is_refused: typeof refusal === "string" && refusal !== "",
    tokens: tokensIn(completion?.usage ?? {}),
  };
}

function tokensIn({ prompt_tokens, completion_tokens }: NonNullable<Completion["usage"]>): Tokens | null {
  return isCount(prompt_tokens) && isCount(completion_tokens) ? { prompt_tokens, completion_tokens } : null;
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_SAID_MAX;
