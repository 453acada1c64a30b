/**
 * Values of a page by a language model: reserved for, asked for, checked against the caller's schema, asked for once more when they do
 * not fit, proven by quotes of the page, settled once.
 */
import { Errors } from "typebox/schema";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Extraction, MODEL_FAILURES } from "../../../../schemas/extract.ts";
import type { ValueSchema } from "../../../../schemas/extract-schema.ts";
import type { Chat, ChatAnswer } from "./chat.ts";
import { type Proven, provenBy, type Quote, type Source } from "./evidence.ts";
import { answerSchema, type Message, messagesFor, PAGE_CHARS, type PromptPage, repairFor } from "./prompt.ts";

/** US dollars for a million tokens, which is micros for one. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
}

/** The account of one extraction. */
export interface ModelBudget {
  /** False: one of the accounts that pay has less left. */
  readonly reserve: (micros: number) => Promise<boolean>;
  /** Never throws. */
  readonly settle: (micros: number) => Promise<void>;
}

export interface ModelTask {
  readonly schema: ValueSchema;
  readonly prompt?: string | null;
  readonly page: PromptPage & Pick<Source, "language">;
  readonly deadline_ms: number;
  readonly signal: AbortSignal;
}

type ModelFailure = (typeof MODEL_FAILURES)[number];

export interface ModelExtraction extends Required<Extraction> {
  readonly cost_micros: number;
  readonly is_page_cut: boolean;
  /** For the log: why the model gave no answer. Null: it gave one, or was not asked. */
  readonly failure_detail: string | null;
}

export interface ModelDeps {
  readonly chat: Chat;
  readonly prices: TokenPrices;
  readonly clock: Pick<Clock, "now" | "at">;
  /** A line that no page can know. */
  readonly newFence: () => string;
}

const MAX_TOKENS = 4_096;
const MOST_MS = 60_000;
const BYTES_PER_TOKEN = 3;
const MISTAKES_MAX = 20;
const MISTAKE_CHARS = 200;
/** Share of the estimated prompt tokens; a server that counts less has cut the prompt. */
const LEAST_SHARE = 0.3;
const QUOTES_MAX = 5_000;

interface Counted {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  estimated: boolean;
}

type Outcome =
  | { readonly proven: Proven }
  | { readonly failure: ModelFailure; readonly failure_detail: string | null };

/** An extraction that gave no values: the model was not asked, or has no answer. */
export const withoutValues = (reason: ModelFailure, model: string | null): ModelExtraction => ({
  data: null,
  errors: [{ path: "", reason }],
  evidence: [],
  model,
  usage: null,
  cost_micros: 0,
  is_page_cut: false,
  failure_detail: null,
});

export async function extractByModel(
  deps: ModelDeps,
  task: ModelTask,
  budget: ModelBudget,
): Promise<ModelExtraction> {
  const { clock, prices, chat } = deps;
  const text = task.page.text.slice(0, PAGE_CHARS);
  const is_page_cut = text.length < task.page.text.length;
  const { model } = chat;
  const without = (reason: ModelFailure): ModelExtraction => ({
    ...withoutValues(reason, model),
    is_page_cut,
  });
  if (text.trim() === "") return without("page_empty");
  const began_ms = clock.now();
  if (task.deadline_ms <= began_ms || task.signal.aborted) return without("model_timeout");
  const page = { ...task.page, text };
  const messages = messagesFor(task, page, deps.newFence());
  const most = mostOf(messages, prices);
  if (most > 0 && !(await budget.reserve(most))) return without("budget_exhausted");
  const counted: Counted = { requests: 0, prompt_tokens: 0, completion_tokens: 0, estimated: false };
  try {
    const outcome = await withTimeout(task, clock, (until) =>
      askAndProve(deps, { ...task, page }, messages, counted, until),
    );
    const usage = { ...counted, ms: clock.now() - began_ms };
    const told = { usage, cost_micros: costOf(counted, prices) };
    if ("failure" in outcome) {
      const { failure, failure_detail } = outcome;
      return { ...without(failure), ...told, failure_detail };
    }
    const { data, errors, evidence } = outcome.proven;
    const values = { data: data as Record<string, unknown>, errors, evidence };
    return { ...values, ...told, model, is_page_cut, failure_detail: null };
  } finally {
    // Also after a failure of this program: what was asked until then, and no more.
    if (most > 0) await budget.settle(costOf(counted, prices));
  }
}

type Until = Parameters<Chat["ask"]>[2];

async function withTimeout<T>(
  task: ModelTask,
  clock: ModelDeps["clock"],
  ask: (until: Until) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController();
  const deadline_ms = Math.min(task.deadline_ms, clock.now() + MOST_MS);
  const timer = clock.at(deadline_ms, () => timeout.abort());
  try {
    return await ask({ signal: AbortSignal.any([task.signal, timeout.signal]), deadline_ms });
  } finally {
    timer[Symbol.dispose]();
  }
}

const tokensOf = (messages: readonly Message[]): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0) / BYTES_PER_TOKEN);

const costOf = (
  { prompt_tokens, completion_tokens }: Pick<Counted, "prompt_tokens" | "completion_tokens">,
  { input, output }: TokenPrices,
): number => Math.ceil(prompt_tokens * input + completion_tokens * output);

/** The highest cost of both requests: the second has the first one's answer and its mistakes. */
function mostOf(messages: readonly Message[], prices: TokenPrices): number {
  const once = tokensOf(messages);
  const again = once + MAX_TOKENS + Math.ceil((MISTAKES_MAX * (MISTAKE_CHARS + 4)) / BYTES_PER_TOKEN);
  return costOf({ prompt_tokens: once + again, completion_tokens: 2 * MAX_TOKENS }, prices);
}

async function askAndProve(
  { chat, clock }: ModelDeps,
  { schema, page }: ModelTask,
  first: readonly Message[],
  counted: Counted,
  until: Until,
): Promise<Outcome> {
  const wanted = answerSchema(schema);
  let messages = first;
  for (let attempt = 0; ; attempt++) {
    const answer = await chat.ask(messages, { schema: wanted, max_tokens: MAX_TOKENS }, until);
    count(answer, messages, counted);
    if (answer.kind === "failed") return { failure: answer.reason, failure_detail: answer.detail };
    const failure = failureOf(answer, messages);
    if (failure !== null) return { failure, failure_detail: null };
    const read = readAnswer(answer.content, wanted);
    if (read.kind === "read") {
      const source = { ...page, links: new Set(page.links), now_ms: clock.now() };
      return { proven: provenBy(read.data, schema, read.evidence, source) };
    }
    if (attempt > 0) return { failure: "model_answer_invalid", failure_detail: null };
    messages = [...first, ...repairFor(answer.content.slice(0, MAX_TOKENS * BYTES_PER_TOKEN), read.mistakes)];
  }
}

function failureOf(
  { is_cut, is_refused, tokens }: Extract<ChatAnswer, { kind: "answered" }>,
  messages: readonly Message[],
): ModelFailure | null {
  if (is_refused) return "model_refused";
  if (is_cut) return "model_answer_cut";
  return tokens && tokens.prompt_tokens < LEAST_SHARE * tokensOf(messages) ? "prompt_truncated" : null;
}

/**
 * An answer without tokens, and a request that was sent and not answered, may have cost all that this one request could. One that was
 * refused, or never sent, has cost nothing.
 */
function count(answer: ChatAnswer, messages: readonly Message[], counted: Counted): void {
  counted.requests += 1;
  if (answer.kind === "failed" && !answer.may_have_cost) return;
  const tokens = answer.kind === "answered" ? answer.tokens : null;
  counted.prompt_tokens += tokens?.prompt_tokens ?? tokensOf(messages);
  counted.completion_tokens += tokens?.completion_tokens ?? MAX_TOKENS;
  counted.estimated ||= tokens === null;
}

type ReadAnswer =
  | { readonly kind: "read"; readonly data: unknown; readonly evidence: readonly Quote[] }
  | { readonly kind: "invalid"; readonly mistakes: string[] };

function readAnswer(content: string, wanted: object): ReadAnswer {
  let value: unknown;
  try {
    value = JSON.parse(jsonIn(content));
  } catch {
    return { kind: "invalid", mistakes: ["It is no JSON."] };
  }
  const [fits, errors] = Errors(wanted, value);
  if (!fits) {
    const mistakes = errors
      .slice(0, MISTAKES_MAX)
      .map(({ instancePath, message }) => `${instancePath || "/"} ${message}`.slice(0, MISTAKE_CHARS));
    return { kind: "invalid", mistakes };
  }
  const { data, evidence } = value as { data: unknown; evidence: Quote[] };
  return { kind: "read", data, evidence: evidence.slice(0, QUOTES_MAX) };
}

/** Cuts off what stands around the object: thoughts before it, and the marks of a code block. */
function jsonIn(content: string): string {
  const thought = content.lastIndexOf("</think>");
  const said = thought < 0 ? content : content.slice(thought + "</think>".length);
  return said.slice(Math.max(0, said.indexOf("{")), said.lastIndexOf("}") + 1);
}
