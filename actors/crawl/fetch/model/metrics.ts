/** Metrics of extractions by a language model. */
import type { MetricTable } from "../../../../cluster/ports/metrics.ts";
import { MODEL_FAILURES } from "../../../../schemas/extract.ts";

export const MODEL_METRICS = {
  trawl_model_extractions_total: {
    kind: "counter",
    help: "Pages whose values a request wanted of the language model, by what became of it",
    labels: ["outcome"],
    values: { outcome: ["ok", ...MODEL_FAILURES] },
  },
  trawl_model_calls_total: {
    kind: "counter",
    help: "Questions to the language model; those of an answer that did not fit are two",
    labels: [],
  },
  trawl_model_waiting: {
    kind: "gauge",
    help: "Pages that wait until the language model takes them (TRAWL_LLM_CONCURRENCY)",
    labels: [],
  },
  trawl_model_tokens_total: {
    kind: "counter",
    help: "Tokens that the language model read (prompt) and wrote (completion), estimated where its server does not say",
    labels: ["kind"],
    values: { kind: ["prompt", "completion"] },
  },
} as const satisfies MetricTable;

type ModelMetrics = typeof MODEL_METRICS;
declare module "../../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends ModelMetrics {}
}
