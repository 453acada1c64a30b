/**
 * The audit log of operators: each change by an operator key below /v1/ops, with what was asked and answered; GET /v1/ops/audit. The
 * command line's changes of stores are not in it, and keys have a log of their own (/v1/keys/events). Kept for 400 days. A row that
 * cannot be stored does not change the answer, which tells what happened: it is a line of the service's log then, and is counted.
 */
import { randomBytes } from "node:crypto";
import { type Static, Type } from "typebox";
import { collection } from "../cluster/collection.ts";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { Metrics } from "../cluster/ports/metrics.ts";
import { Component, Field, Nullable, Timestamp } from "../schemas/common.ts";
import { LEDGER_RETENTION_MS } from "../schemas/ledger.ts";
import { json } from "./http-errors.ts";
import { type Call, type Route, route } from "./route.ts";

const OperatorEvent = Component("OperatorEvent", {
  at: Field(Timestamp, "When it was answered", "2026-11-23T09:12:00.000Z"),
  by: Field(Type.String(), "The prefix of the key", "ok_abcdefg"),
  operation: Field(Type.String(), "The operation", "configureDomain"),
  path: Field(Type.String(), "Its path; names of removed people are left out", "/v1/ops/domains/example.org"),
  body: Field(Nullable(Type.String()), "The body as JSON, its first 500 characters; null: it had none", "{}"),
  status: Field(Type.Integer(), "The status of the answer", 200),
});
type OperatorEvent = Static<typeof OperatorEvent>;

/** By time and a random number. */
export const OPERATOR_EVENTS = collection<OperatorEvent>("operator_events", { expires: true });
const MAX_BODY_CHARS = 500;
const MAX_SHOWN = 200;

export interface OperatorAuditDeps {
  readonly documents: Documents;
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<Metrics, "count">;
  readonly log: Pick<Log, "error">;
}

/** Whose removal is asked for is not to be remembered by the log of it. */
const HIDDEN_PARAMETERS: ReadonlySet<string> = new Set(["name"]);

type Params = Readonly<Record<string, string | number>> | null;

const pathOf = ({ path }: Route, params: Params): string =>
  path.replace(/\{([^{}]+)\}/g, (whole, name: string) =>
    HIDDEN_PARAMETERS.has(name) ? whole : encodeURIComponent(String(params?.[name] ?? "")),
  );

/** The routes; those of operators that change something are written down before they are answered, failed ones too. A request that the checks before the route refuse is not. */
export const audited = (
  routes: readonly Route[],
  { documents, clock, metrics, log }: OperatorAuditDeps,
): readonly Route[] =>
  routes.map((each) => {
    if (!each.operators_only || each.method === "GET") return each;
    const record = async ({ params, body, caller }: Call, status: number): Promise<void> => {
      const now_ms = Math.floor(clock.now());
      const at = new Date(now_ms).toISOString();
      const event: OperatorEvent = {
        at,
        by: caller.grant.key.prefix,
        operation: each.operationId,
        path: pathOf(each, params as Params),
        body: body == null ? null : JSON.stringify(body).slice(0, MAX_BODY_CHARS),
        status,
      };
      try {
        await OPERATOR_EVENTS.put(documents, `${at} ${randomBytes(6).toString("hex")}`, event, 0, {
          expires_at_ms: now_ms + LEDGER_RETENTION_MS,
        });
      } catch (problem) {
        metrics.count("trawl_operator_events_lost_total", {});
        // Without the body: it may name addresses of webhooks and other things that no log holds.
        const { by, operation, path } = event;
        log.error("Cannot store a row of the audit log of operators", {
          by,
          operation,
          path,
          status,
          problem,
        });
      }
    };
    return {
      ...each,
      async handle(call: Call) {
        let answer: Awaited<ReturnType<Route["handle"]>>;
        try {
          answer = await each.handle(call);
        } catch (problem) {
          // The change may have been made all the same.
          await record(call, 500);
          throw problem;
        }
        await record(call, answer.status);
        return answer;
      },
    };
  });

export const operatorAuditRoute = ({ documents }: Pick<OperatorAuditDeps, "documents">): Route =>
  route({
    method: "GET",
    path: "/v1/ops/audit",
    operationId: "listOperatorEvents",
    summary: "What operators have changed over HTTP, newest first",
    description: "Kept for 400 days; the newest 200 are answered.",
    tags: ["internal"],
    replies: {
      200: {
        description: "At most 200",
        schema: Type.Object({ entries: Field(Type.Array(OperatorEvent), "Newest first") }),
      },
    },
    handle: async () => {
      const found = await OPERATOR_EVENTS.list(documents, { limit: MAX_SHOWN, reverse: true });
      return json(200, { entries: found.map(({ value }) => value) });
    },
  });
