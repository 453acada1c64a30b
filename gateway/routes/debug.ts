/** GET /debug/{name}: the story of a debugged request, as a page or as JSON, for its signed link or a key of its project. */
import { Type } from "typebox";
import { preferredType } from "../accept.ts";
import type { DebugRecord, DebugRecords } from "../debug-records.ts";
import { htmlHeading, htmlPage, htmlTable, htmlTerms, PAGE_HEADERS } from "../html-page.ts";
import { INVALID_KEY, json, MISSING_TOKEN, NOT_FOUND } from "../http-errors.ts";
import { Detail } from "../openapi/gateway-reference.ts";
import { openRoute, type Route } from "../route.ts";

/** Seconds whose milliseconds are exact. */
const MAX_SECONDS = 9_000_000_000_000;
const LINK_REFUSED = json(401, {
  detail: "the link is too old or was changed: ask with a key of the project (Authorization: Bearer)",
});

interface DebugRoutesDeps extends Pick<DebugRecords, "find" | "isOpen"> {
  /** The project of the key in an Authorization field; null: there is no such key. Throws Fault. */
  readonly projectOf: (authorization: string) => Promise<string | null>;
}

export const debugRoutes = ({ find, isOpen, projectOf }: DebugRoutesDeps): readonly Route[] => [
  openRoute({
    method: "GET",
    path: "/debug/{name}",
    operationId: "debugRecord",
    audience: "people",
    summary: "The story of a debugged request, for seven days",
    description:
      "A page for people; JSON with Accept: application/json. The answer's debug_url opens it for an hour, a key of the project " +
      "(Authorization) for seven days. Passwords and query secrets are masked.",
    tags: ["about"],
    params: Type.Object({ name: Type.String({ pattern: "^[A-Za-z0-9_-]{32}$" }) }),
    query: Type.Object({
      expires: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_SECONDS })),
      sig: Type.Optional(Type.String({ maxLength: 100 })),
    }),
    replies: {
      401: { description: "There is no key, and the link is too old or was changed", schema: Detail },
      200: { description: "The record", content_type: "text/html", schema: Type.String() },
      404: { description: "There is no such record, or it is another project's", schema: Detail },
    },
    handle: async ({ params: { name }, query: { expires, sig }, head }) => {
      const isLinked = expires !== undefined && sig !== undefined && isOpen(name, { expires, sig });
      const authorization = head.headers.get("authorization");
      if (!isLinked && authorization === undefined) return sig === undefined ? MISSING_TOKEN : LINK_REFUSED;
      const project = isLinked ? null : await projectOf(authorization!);
      if (!isLinked && project === null) return INVALID_KEY;
      const record = await find(name);
      if (record === null || (!isLinked && record.project !== project)) return NOT_FOUND;
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
