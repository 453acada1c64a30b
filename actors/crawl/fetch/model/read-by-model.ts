/** The values of a page that a request wants of a language model, put into the answer of this caller alone. */
import { randomBytes } from "node:crypto";
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { Metrics } from "../../../../cluster/ports/metrics.ts";
import { fromMicros, toMicros } from "../../../../schemas/accounts.ts";
import { valueSchemaOf } from "../../../../schemas/extract.ts";
import type { FetchAnswer, FetchRequest, PageFormats, PageRecord } from "../../../../schemas/fetch.ts";
import { asksModel } from "../freshness.ts";
import { formatsOf, textOf } from "../page-parts.ts";
import { formatsBody } from "../page-store.ts";
import type { Spending } from "../premium.ts";
import type { Chat } from "./chat.ts";
import { extractByModel, type ModelExtraction, type TokenPrices, withoutValues } from "./extract-by-model.ts";
import { PAGE_CHARS } from "./prompt.ts";
import type { ModelTurns } from "./turns.ts";

export type ReadByModel = (
  answer: FetchAnswer,
  request: FetchRequest,
  payer: { readonly ask: ActorClient; readonly epoch: number; readonly signal: AbortSignal },
) => Promise<FetchAnswer>;

interface Deps {
  readonly clock: Clock;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Null: this node has none. */
  readonly model: {
    readonly chat: Chat;
    readonly prices: TokenPrices;
    readonly turns: ModelTurns;
  } | null;
  readonly spending: Spending;
}

export const modelReader =
  (deps: Deps): ReadByModel =>
  async (answer, request, payer) => {
    const { record, error } = answer;
    if (!asksModel(request) || error !== null) return answer;
    const formats = (await formatsOf(deps.blobs, record)) ?? NO_FORMATS;
    const extraction = await extractionOf(deps, record, formats, request, payer);
    observe(deps, extraction);
    const { cost_micros, is_page_cut, failure_detail: _, ...extract } = extraction;
    const cut = `extract: the model was given the first ${PAGE_CHARS} characters of the page`;
    const warnings = [...(formats.warnings ?? []), ...(is_page_cut ? [cut] : [])];
    const body = formatsBody({ ...formats, extract, ...(warnings.length > 0 && { warnings }) });
    const { sha256: formats_sha256 } = await deps.blobs.put(body);
    return {
      ...answer,
      record: { ...record, formats_sha256, formats_bytes: body.length },
      cost_usd: fromMicros((toMicros(answer.cost_usd) ?? 0) + cost_micros),
      llm_cost_usd: fromMicros(cost_micros),
    };
  };

const NO_FORMATS: PageFormats = { markdown: null, links: [], images: [] };

/** Counts what the model was asked and used, and what became of a request that wanted it. */
function observe({ metrics, log }: Deps, { data, errors, usage, failure_detail }: ModelExtraction): void {
  const outcome = data === null ? errors[0]!.reason : "ok";
  metrics.count("trawl_model_extractions_total", { outcome });
  metrics.count("trawl_model_calls_total", {}, usage?.requests ?? 0);
  metrics.count("trawl_model_tokens_total", { kind: "prompt" }, usage?.prompt_tokens ?? 0);
  metrics.count("trawl_model_tokens_total", { kind: "completion" }, usage?.completion_tokens ?? 0);
  if (failure_detail !== null)
    log.warn("The language model gave no answer", { reason: outcome, problem: failure_detail });
}

async function extractionOf(
  { clock, blobs, model, spending }: Deps,
  record: PageRecord,
  { links }: PageFormats,
  request: FetchRequest,
  { ask, epoch, signal }: Parameters<ReadByModel>[2],
): Promise<ModelExtraction> {
  if (model === null) return withoutValues("model_unavailable", null);
  const isFree = model.prices.input === 0 && model.prices.output === 0;
  // An item of a batch is tried without premium routes first, although its caller pays for them.
  const mayPay = request.allow_paid || request.premium_later === true;
  if (!mayPay && !isFree) return withoutValues("paid_not_allowed", model.chat.model);
  const wanted = request.reading!.data!.extract!;
  const text = await textOf(blobs, record);
  const page = {
    url: record.final_url ?? request.url,
    text: [record.title, text].filter(Boolean).join("\n\n"),
    links: links.map(({ url }) => url),
    language: record.meta?.language ?? null,
  };
  const { deadline_ms } = request;
  const task = { schema: valueSchemaOf(wanted)!, prompt: wanted.prompt ?? null, page, deadline_ms, signal };
  const id = `${request.fetch_id}.model.${epoch}`;
  const endTurn = await model.turns.take({ lane: request.lane, share: request.project, deadline_ms }, signal);
  if (endTurn === null) return withoutValues("model_timeout", model.chat.model);
  try {
    return await extractByModel(
      { ...model, clock, newFence: () => `=== ${randomBytes(12).toString("hex")} ===` },
      task,
      {
        reserve: (micros) => spending.reserve(ask, request, id, micros),
        settle: (micros) => spending.settle(ask, request, id, micros),
      },
    );
  } finally {
    endTurn();
  }
}
