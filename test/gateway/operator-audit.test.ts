/** A change by an operator is answered as it happened, also when its row of the audit log cannot be stored. */
import { expect, test } from "vitest";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { json } from "../../gateway/http-errors.ts";
import { audited, OPERATOR_EVENTS } from "../../gateway/operator-audit.ts";
import { route } from "../../gateway/route.ts";
import { flakyDocuments } from "../harness/flaky-documents.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const PATH = "/v1/ops/levels";
const LOST = "trawl_operator_events_lost_total";

async function world() {
  const rows = flakyDocuments();
  const telemetry = silentTelemetry();
  const change = { answers: true, made: 0 };
  const level = route({
    method: "POST",
    path: PATH,
    operationId: "changeLevel",
    summary: "Changes a level",
    tags: ["internal"],
    replies: {},
    handle() {
      change.made++;
      if (!change.answers) throw new Error("The change broke");
      return json(200, { level: change.made });
    },
  });
  const { call, operator: key } = await gatewayHarness({
    more: ({ clock }) => audited([level], { documents: rows, clock, ...telemetry }),
  });
  const ask = () => call("POST", PATH, { key });
  const stored = async () => (await OPERATOR_EVENTS.list(rows, { limit: 9 })).map(({ value }) => value);
  return { rows, telemetry, change, ask, stored };
}

test("a change whose row of the audit log cannot be stored is answered as it happened, logged and counted", async () => {
  const { rows, telemetry, change, ask, stored } = await world();
  rows.mode = "away";
  expect(await ask()).toMatchObject({ status: 200, json: { level: 1 } });
  expect(change.made).toBe(1);
  expect(telemetry.counts.get(LOST)).toBe(1);
  const [line] = telemetry.lines.filter(({ level }) => level === "error");
  expect(line!.fields).toMatchObject({ operation: "changeLevel", path: PATH, status: 200 });
  rows.mode = "here";
  expect(await stored()).toEqual([]);
  expect(await ask()).toMatchObject({ status: 200, json: { level: 2 } });
  expect(await stored()).toMatchObject([{ operation: "changeLevel", path: PATH, status: 200 }]);
  expect(telemetry.counts.get(LOST)).toBe(1);
});

test("a change that broke has one row, and the answer of what broke", async () => {
  const { change, ask, stored } = await world();
  change.answers = false;
  expect((await ask()).status).toBe(500);
  expect(await stored()).toMatchObject([{ operation: "changeLevel", status: 500 }]);
});
