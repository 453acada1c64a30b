/** From components to the service: the specification, "States and transitions", and what incidents and maintenance do. */
import { describe, expect, test } from "vitest";
import type { ComponentSpec } from "../../../../actors/business/status/component.ts";
import { evaluate, NO_NOTICES, type Notices, overall } from "../../../../actors/business/status/evaluate.ts";
import { factsOf, mergeFigures } from "../../../../actors/business/status/figures.ts";
import type { Status, StatusIncident, StatusMaintenance } from "../../../../schemas/status.ts";

const NOW_MS = Date.parse("2026-11-23T12:00:00Z");
const at = (hours: number): string => new Date(NOW_MS + hours * 3_600_000).toISOString();

const spec = (id: string, status: Status = "operational"): ComponentSpec => ({
  id,
  group: id.startsWith("company_") ? "company_data" : null,
  name: id,
  description: "",
  deployed_with: null,
  findings: () => (status === "operational" ? [] : [{ status, reason: "tier_errors" }]),
  metrics: () => ({}),
});

const incident = (fields: Partial<StatusIncident>): StatusIncident => ({
  id: "inc_1",
  title: "Slow",
  status: "investigating",
  impact: "partial_outage",
  components: ["fetch"],
  created_at: at(-1),
  updated_at: at(-1),
  resolved_at: null,
  updates: [],
  ...fields,
});

const maintenance = (fields: Partial<StatusMaintenance>): StatusMaintenance => ({
  id: "mnt_1",
  title: "Move",
  status: "scheduled",
  components: [],
  starts_at: at(-1),
  ends_at: at(1),
  created_at: at(-5),
  updated_at: at(-5),
  completed_at: null,
  updates: [],
  ...fields,
});

const told = (specs: readonly ComponentSpec[], notices: Partial<Notices> = {}) => {
  const { status, components } = evaluate(specs, {}, { ...NO_NOTICES, ...notices }, NOW_MS);
  return [status, ...components.map((each) => [each.status, ...each.reasons].join(" "))];
};

describe("the overall status", () => {
  test.each([
    [{ api: "operational", fetch: "operational" }, "operational"],
    [{ api: "operational", archive: "degraded" }, "degraded"],
    [{ archive: "major_outage" }, "partial_outage"],
    [{ paid_tiers: "major_outage", filings: "degraded" }, "partial_outage"],
    [{ api: "major_outage" }, "major_outage"],
    [{ search: "major_outage" }, "major_outage"],
    [{ fetch: "major_outage" }, "major_outage"],
    [{ storage: "major_outage" }, "major_outage"],
    [{ batch_jobs: "major_outage" }, "partial_outage"],
    [{ company_gleif: "major_outage" }, "degraded"],
    [{ company_gleif: "partial_outage" }, "degraded"],
    [{ fetch: "maintenance" }, "maintenance"],
    [{ fetch: "maintenance", search: "degraded" }, "degraded"],
  ] satisfies [Record<string, Status>, Status][])("of %j", (components, expected) => {
    const listed = Object.entries(components).map(([id, status]) => ({
      id,
      group: id.startsWith("company_") ? "company_data" : null,
      status,
    }));
    expect(overall(listed)).toBe(expected);
  });
});

describe("incidents", () => {
  test("show their components at least at their impact until they are resolved", () => {
    const specs = [spec("api"), spec("fetch"), spec("search", "major_outage")];
    expect(told(specs, { incidents: [incident({ components: ["fetch", "search"] })] })).toEqual([
      "major_outage",
      "operational",
      "partial_outage incident",
      "major_outage tier_errors incident",
    ]);
    const resolved = incident({ status: "resolved", resolved_at: at(-0.5) });
    expect(told([spec("fetch")], { incidents: [resolved] })).toEqual(["operational", "operational"]);
    expect(told([spec("fetch")], { incidents: [incident({ impact: "none" })] })[1]).toBe("operational");
  });

  test("are listed newest first, resolved ones for seven days", () => {
    const incidents = [
      incident({ id: "old", created_at: at(-400) }),
      incident({ id: "gone", status: "resolved", resolved_at: at(-169) }),
      incident({ id: "resolved", status: "resolved", resolved_at: at(-167), created_at: at(-300) }),
      incident({ id: "new", created_at: at(-2) }),
    ];
    const status = evaluate([], {}, { incidents, maintenance: [] }, NOW_MS);
    expect(status.incidents.map(({ id }) => id)).toEqual(["new", "resolved", "old"]);
  });
});

describe("maintenance", () => {
  test("begins and ends by the clock, and may be completed early", () => {
    const windows = [
      maintenance({ id: "later", starts_at: at(2), ends_at: at(3) }),
      maintenance({ id: "now" }),
      maintenance({ id: "early", completed_at: at(-0.1) }),
      maintenance({ id: "over", starts_at: at(-4), ends_at: at(-3) }),
      maintenance({ id: "long over", starts_at: at(-200), ends_at: at(-169) }),
    ];
    const status = evaluate([], {}, { incidents: [], maintenance: windows }, NOW_MS);
    expect(status.maintenance.map(({ id, status: state }) => `${id}: ${state}`)).toEqual([
      "over: completed",
      "now: in_progress",
      "early: completed",
      "later: scheduled",
    ]);
    expect(status.maintenance[0]!.completed_at).toBe(at(-3));
  });

  test("of the whole service, of a component, and with an incident", () => {
    const specs = [spec("api"), spec("fetch", "major_outage")];
    expect(told(specs, { maintenance: [maintenance({})] })).toEqual([
      "maintenance",
      "maintenance maintenance",
      "maintenance tier_errors maintenance",
    ]);
    const ofFetch = maintenance({ components: ["fetch"] });
    expect(told(specs, { maintenance: [ofFetch] })[0]).toBe("maintenance");
    expect(told([...specs, spec("search", "degraded")], { maintenance: [ofFetch] })[0]).toBe("degraded");
    expect(told(specs, { maintenance: [ofFetch], incidents: [incident({ impact: "degraded" })] })).toEqual([
      "degraded",
      "operational",
      "degraded tier_errors maintenance incident",
    ]);
    expect(told([spec("api")], { maintenance: [maintenance({ starts_at: at(1), ends_at: at(2) })] })).toEqual(
      ["operational", "operational"],
    );
  });
});

test("figures of nodes are added, the largest or smallest is taken, latencies become a percentile", () => {
  const buckets = (...counts: number[]): number[] => Array.from({ length: 14 }, (_, at_) => counts[at_] ?? 0);
  const merged = mergeFigures([
    { a: { sum: 1 }, lag: { max: 3 }, ok: { min: 1 }, p95: { buckets: buckets(94) } },
    { a: { sum: 2 }, lag: { max: 9 }, ok: { min: 0 }, p95: { buckets: buckets(0, 6) }, only: { sum: 7 } },
  ]);
  expect(factsOf(merged)).toEqual({ a: 3, lag: 9, ok: 0, p95: 10, only: 7 });
  expect(factsOf({ p95: { buckets: buckets() } })).toEqual({});
  expect(factsOf(mergeFigures([{ a: { sum: 1 } }, { a: { max: 5 } }]))).toEqual({ a: 1 });
});
