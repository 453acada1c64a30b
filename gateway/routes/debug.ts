/** GET /debug/{name}: the story of a debugged request, as a page or as JSON. Its link is its permission. */
import { Type } from "typebox";
import { preferredType } from "../accept.ts";
import type { DebugRecord, DebugRecords } from "../debug-records.ts";
import { htmlHeading, htmlPage, htmlTable, htmlTerms, PAGE_HEADERS } from "../html-page.ts";
import { json, NOT_FOUND } from "../http-errors.ts";
import { openRoute, type Route } from "../route.ts";

export const debugRoutes = ({ find }: Pick<DebugRecords, "find">): readonly Route[] => [
  openRoute({
    method: "GET",
    path: "/debug/{name}",
    operationId: "debugRecord",
    summary: "The story of a debugged request, for seven days: the link is the answer's debug_url",
    description: "A page for people; JSON with Accept: application/json.",
    tags: ["about"],
    params: Type.Object({ name: Type.String({ pattern: "^[A-Za-z0-9_-]{32}$" }) }),
    replies: {
      200: { description: "The record", content_type: "text/html", schema: Type.String() },
      404: { description: "There is no such record", schema: Type.Object({ detail: Type.String() }) },
    },
    handle: async ({ params, head }) => {
      const record = await find(params.name);
      if (record === null) return NOT_FOUND;
      const type = preferredType(head.headers.get("accept"), ["text/html", "application/json"]);
      if (type === "application/json")
        return json(200, record, { "Cache-Control": PAGE_HEADERS["Cache-Control"] });
      return { status: 200, headers: PAGE_HEADERS, body: Buffer.from(debugPage(record)) };
    },
  }),
];

function debugPage(record: DebugRecord): string {
  const { began_at, attempts, trace } = record;
  const began_ms = Date.parse(began_at);
  const terms = htmlTerms([
    ["Operation", record.operation],
    ["Project", record.project],
    ["Key", record.key],
    ["Began", began_at],
    ["Took", `${record.ms} ms`],
    ["Answered from", record.cached ? "the cache" : "upstream"],
    ["Billed as", record.billing_category],
    ["Cost", record.cost_usd === null ? "not shown" : `${record.cost_usd} USD`],
    ["Error", record.error === null ? "none" : `${record.error}: ${record.error_detail ?? ""}`],
    ["Request", JSON.stringify(record.request)],
  ]);
  const tried = htmlTable(
    [
      ["Route", (attempt) => attempt.tier],
      ["Status", (attempt) => attempt.status],
      ["Reason", (attempt) => attempt.reason],
      ["ms", (attempt) => attempt.ms],
      ["Detail", (attempt) => attempt.detail],
    ],
    attempts,
  );
  const messages =
    trace === null
      ? "<p>None: the cache answered, or the run that another caller had begun.</p>"
      : htmlTable(
          [
            ["After, ms", (step) => Math.max(0, Math.round(step.at_ms - began_ms))],
            ["Actor", (step) => step.actor],
            ["Key", (step) => step.key],
            ["Operation", (step) => step.operation],
            ["Until answered, ms", (step) => Math.round(step.ms)],
            ["Fault", (step) => step.fault],
          ],
          trace,
        );
  return htmlPage(
    `Request ${record.request_id}`,
    `${terms}${htmlHeading("Attempts")}${tried}${htmlHeading("Messages to actors, with their waits")}${messages}`,
  );
}
