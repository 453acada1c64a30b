/** Canaries and schema drift: a source that answers, and answers something else, is found. */
import { describe, expect, test } from "vitest";
import { canaryProblem } from "../../../../actors/sources/companies/canary.ts";
import {
  driftedPaths,
  endpointOf,
  NO_SHAPES,
  observeShape,
  shapeOf,
} from "../../../../actors/sources/companies/drift.ts";
import { CHECK_EVERY_MS, sourceActor } from "../../../../actors/sources/companies/source.actor.ts";
import { openHealth } from "../../../../actors/sources/companies/source-health.ts";
import type { Canary, LookupAnswer } from "../../../../actors/sources/companies/source.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { CompanySource } from "../../../../schemas/companies.ts";
import { claimOf, type ScriptedClaim, scriptedSource } from "../../../harness/companies-harness.ts";

const found = (...claims: readonly ScriptedClaim[]): LookupAnswer => ({
  kind: "found",
  native_id: "1",
  groups: [{ group: "core", kind: "claims", is_complete: true, documents: [], claims: claims.map(claimOf) }],
});
const failed = { kind: "failed", error: "timeout", message: "too slow", retry_after_s: null } as const;
const CANARY: Canary = {
  identifier: { scheme: "lei", value: "X" },
  expect: [
    { field: "jurisdiction", key: null, value: "CH" },
    { field: "addresses", key: "registered", value: { city: "Basel" } },
  ],
};

describe("a canary", () => {
  test.each<readonly [LookupAnswer, string | null]>([
    [found(["jurisdiction", "CH"], ["addresses", { city: "Basel" }, "registered"]), null],
    [found(["jurisdiction", "CH"]), "lei:X has no addresses[registered]"],
    [found(["jurisdiction", "FR"]), 'lei:X has another jurisdiction than "CH": "FR"'],
    [{ kind: "not_found", documents: [] }, "lei:X is not known any more"],
    [failed, "lei:X failed with timeout: too slow"],
    [
      { kind: "found", native_id: "1", groups: [{ ...failed, group: "core", documents: [] }] },
      "lei:X failed with timeout: too slow",
    ],
  ])("of %j is %j", (answer, problem) => {
    expect(canaryProblem(CANARY, answer)).toBe(problem);
  });

  function watched(answer: () => LookupAnswer) {
    const clock = virtualClock(Date.UTC(2026, 10, 22));
    const documents = memoryDocuments();
    const { log } = silentTelemetry();
    const source = scriptedSource("register", "lei", answer, { canaries: [CANARY] });
    const health = openHealth({
      documents,
      clock,
      log,
      onUsed: (name) => void ask(CompanySource, name, "wake", null),
    });
    const { ask } = embedded(
      [sourceActor({ sources: [source], clock, log, health, openHttp: () => async () => failed })],
      { clock, random: seededRandom(1), documents },
    );
    const state = async () => (await health.read(["register"])).get("register")!;
    return { clock, source, health, ask, state };
  }

  test("is asked a quarter of an hour after the source was used, once", async () => {
    const { clock, source, health, state } = watched(() => found(["jurisdiction", "FR"]));
    await clock.advance(2 * CHECK_EVERY_MS);
    expect(source.lookups).toEqual([]);
    health.record("register", null);
    await clock.advance(5_000);
    await clock.advance(CHECK_EVERY_MS + 1_000);
    expect(source.lookups).toEqual([CANARY.identifier]);
    expect(await state()).toMatchObject({
      state: "operational",
      canary: { problem: expect.stringContaining("another jurisdiction") },
    });
    await clock.advance(4 * CHECK_EVERY_MS);
    expect(source.lookups).toHaveLength(1);
  });

  test("that fails twice makes the source partial, until it holds again", async () => {
    let isWell = false;
    const well = found(["jurisdiction", "CH"], ["addresses", { city: "Basel" }, "registered"]);
    const { ask, state } = watched(() => (isWell ? well : failed));
    const check = () => ask(CompanySource, "register", "check", null);
    expect((await check()).problem).toContain("timeout");
    expect((await state()).state).toBe("operational");
    await check();
    expect((await state()).state).toBe("partial");
    isWell = true;
    expect(await check()).toEqual({ source: "register", problem: null });
    expect(await state()).toMatchObject({ state: "operational", canary: { problem: null } });
  });
});

describe("a document's shape", () => {
  test("is its paths with their types; lists, data as keys, and null fold", () => {
    const value = { a: { b: "x", c: null }, list: [{ d: 1 }, { e: true }], byYear: { "2024": { f: 1 } } };
    expect([...shapeOf(value)].toSorted()).toEqual([
      ".a.b string",
      ".byYear.*.f number",
      ".list list",
      ".list[].d number",
      ".list[].e boolean",
    ]);
  });

  test("has a limit", () => {
    const wide = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, n) => [`x${"abcdefghij".repeat(5)}${n}`, n]),
    );
    expect(shapeOf({ wide, deep: JSON.parse(`${"[".repeat(50)}${"]".repeat(50)}`) }).size).toBeLessThan(500);
    const names = (n: number) =>
      Object.fromEntries(
        Array.from({ length: 300 }, (_, at) => [
          `n${"abcdefghij"[n]}${String.fromCharCode(97 + (at % 26))}${"z".repeat(at / 26)}`,
          1,
        ]),
      );
    const shapes = [0, 1, 2].reduce((all, n) => observeShape(all, shapeOf(names(n))), NO_SHAPES);
    expect(shapes.paths).toHaveLength(400);
  });

  test.each([
    ["https://x/api/v1/lei-records/529900T8BM49AURSDO55/isins?page=2", "/api/v1/lei-records/*/isins"],
    ["https://x/enheter/974760673", "/enheter/*"],
    ["https://x/search?q=a", "/search"],
  ])("belongs to the endpoint of %s", (url, endpoint) => {
    expect(endpointOf(url)).toBe(endpoint);
  });
});

describe("drift", () => {
  const usual = shapeOf({ name: "A", form: "AG", note: 1 });
  const observe = (times: number, shape: ReadonlySet<string>, before = NO_SHAPES) =>
    Array.from({ length: times }).reduce<typeof NO_SHAPES>((all) => observeShape(all, shape), before);

  test("is a path that almost all documents had and 20 of the last 50 lack", () => {
    const stable = observe(120, usual);
    const without = shapeOf({ name: "A", note: 1 });
    expect(driftedPaths(observe(19, without, stable))).toEqual([]);
    expect(driftedPaths(observe(20, without, stable))).toEqual([".form string"]);
    // Documents that have it again end it.
    expect(driftedPaths(observe(50, usual, observe(20, without, stable)))).toEqual([]);
  });

  test("is another type, and neither a new path nor a source that was hardly seen", () => {
    const stable = observe(120, usual);
    const typed = shapeOf({ name: { legal: "A" }, form: "AG", note: 1 });
    expect(driftedPaths(observe(20, typed, stable))).toEqual([".name string"]);
    expect(driftedPaths(observe(50, shapeOf({ name: "A", form: "AG", note: 1, more: 1 }), stable))).toEqual(
      [],
    );
    expect(driftedPaths(observe(20, typed, observe(60, usual)))).toEqual([]);
  });

  test("is no path that came and went before", () => {
    const half = Array.from({ length: 100 }).reduce<typeof NO_SHAPES>(
      (all, _, n) => observeShape(all, n % 2 ? usual : shapeOf({ name: "A" })),
      NO_SHAPES,
    );
    expect(driftedPaths(observe(50, shapeOf({ name: "A" }), half))).toEqual([]);
  });

  test("shows in the health of the source, with its endpoint", async () => {
    const clock = virtualClock(Date.UTC(2026, 10, 22));
    const { log } = silentTelemetry();
    const health = openHealth({ documents: memoryDocuments(), clock, log });
    const document = (value: unknown) =>
      health.observe("a", "https://x/companies/1", Buffer.from(JSON.stringify(value)));
    for (let n = 0; n < 110; n++) document({ name: "A", form: "AG" });
    for (let n = 0; n < 25; n++) document({ name: "A" });
    health.observe("a", "https://x/companies/2", Buffer.from("<html>"));
    await clock.advance(60_000);
    expect((await health.read(["a"])).get("a")).toMatchObject({
      state: "degraded",
      drift: ["/companies/* .form string"],
    });
    for (let n = 0; n < 60; n++) document({ name: "A", form: "AG" });
    await clock.advance(60_000);
    expect((await health.read(["a"])).get("a")).toMatchObject({ state: "operational", drift: [] });
  });

  test("of documents that cannot be read degrades the source when they are a tenth", async () => {
    const clock = virtualClock(Date.UTC(2026, 10, 22));
    const { log } = silentTelemetry();
    const health = openHealth({ documents: memoryDocuments(), clock, log });
    for (let n = 0; n < 8; n++) health.record("a", null);
    health.record("a", "unreadable");
    expect((await health.read(["a"])).get("a")!.state).toBe("degraded");
    for (let n = 0; n < 10; n++) health.record("a", null);
    expect((await health.read(["a"])).get("a")!.state).toBe("operational");
  });
});
