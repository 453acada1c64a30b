/** Metrics of the register of companies. */
import { DELIVERY_OUTCOMES } from "../../work/callbacks/delivery-outcome.ts";
import { SECONDS, type MetricTable } from "../../../cluster/ports/metrics.ts";

export const COMPANY_METRICS = {
  trawl_company_slots_total: {
    kind: "counter",
    help: "Slots of company sources granted, and refused because of a pause or a full queue",
    labels: ["source", "outcome"],
  },
  trawl_company_slot_wait_seconds: {
    kind: "histogram",
    help: "Time from the request for a slot of a company source to the grant",
    labels: ["source"],
    buckets: SECONDS,
  },
  trawl_company_source_pause_level: {
    kind: "gauge",
    help: "Consecutive pauses that a company source asked for; 0: none",
    labels: ["source"],
  },
  trawl_company_documents_compared_total: {
    kind: "counter",
    help: "JSON documents of company sources whose fields were compared with those of earlier ones",
    labels: ["source"],
  },
  trawl_company_import_records_total: {
    kind: "counter",
    help: "Records of imported files of company sources, by what became of them",
    labels: ["source", "outcome"],
  },
  trawl_company_deliveries_total: {
    kind: "counter",
    help: "Attempts to deliver a change of a company, by outcome: delivered, http, error, blocked",
    labels: ["outcome"],
    values: { outcome: DELIVERY_OUTCOMES },
  },
  trawl_company_feed_lag_seconds: {
    kind: "gauge",
    help: "Age of the oldest change of a company that had no number in the change feed, when it got one",
    labels: [],
  },
  trawl_company_index_building: {
    kind: "gauge",
    help: "1 while this node makes the search index of companies from the stored companies",
    labels: [],
  },
} as const satisfies MetricTable;

type CompanyMetrics = typeof COMPANY_METRICS;
declare module "../../../cluster/ports/metrics.ts" {
  interface KnownMetrics extends CompanyMetrics {}
}
