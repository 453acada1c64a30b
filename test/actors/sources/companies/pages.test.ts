/** Questions of a client about one company: fields of its history, pages of its lists, sources by name. */
import { afterEach, describe, expect, test } from "vitest";
import { resourcePage } from "../../../../actors/sources/companies/feature/record-routes.ts";
import { isHistoryField } from "../../../../actors/sources/companies/record.ts";
import { historyPage } from "../../../../actors/sources/companies/view.ts";
import { identifier, oneRegister, type Script, scriptedSource } from "../../../harness/companies-harness.ts";
import { leiOf } from "../../../harness/gleif.ts";

const LEI = leiOf("529900T8BM49AURSDO");
const UID = "CHE101602521";

type Register = ReturnType<typeof oneRegister>;
let running: Register;
afterEach(() => running?.stop());

/** A source that looks LEIs up, and a home register that the operator has not turned on. */
function registerWith(script: Script): Register {
  running = oneRegister(() => [
    scriptedSource("gleif", "lei", script),
    { ...scriptedSource("zefix", "ch_uid", () => ({})), inactive_because: "TRAWL_ZEFIX_KEY is not set" },
  ]);
  return running;
}

test.each([
  ["names.legal", true],
  ["names", true],
  ["addresses", true],
  ["addresses[registered]", true],
  ["people[muster, erika|board|]", true],
  ["ownership", true],
  ["identifiers[lei:529900T8BM49AURSDO21]", true],
  ["Names", false],
  ["name", false],
  ["names.", false],
  ["quality", false],
  ["addresses[", false],
  ["names.legal[x]", false],
  ["", false],
])("%j is a field of a history: %j", (name, expected) => {
  expect(isHistoryField(name)).toBe(expected);
});

test("a history has one item of a field, by the name that provenance gives it", async () => {
  const register = registerWith(() => ({
    core: [
      ["names.legal", "Alpina Technik AG"],
      identifier("lei", LEI),
      ["addresses", { type: "registered", formatted: "Basel", current: true }, "registered"],
      ["addresses", { type: "business", formatted: "Bern", current: true }, "business"],
    ],
  }));
  const found = (await register.get(`lei:${LEI}`))!;
  const slot = Object.keys(found.company.record.provenance).find((each) => each.includes("registered"))!;
  expect(isHistoryField(slot)).toBe(true);
  const page = historyPage(found, slot, null, 10, register.sources);
  expect(page.items).toMatchObject([
    { field: "addresses", key: "registered", value: { formatted: "Basel" } },
  ]);
});

describe("a page of a list", () => {
  const items = (...ids: readonly number[]) => ids.map((id) => ({ id: `evt_${id}`, date: `2026-01-0${id}` }));

  test("goes on behind its last item when one was added at the front meanwhile", () => {
    const first = resourcePage(items(4, 3, 2, 1), { at: 0 }, 2);
    expect(first.items).toEqual(items(4, 3));
    const second = resourcePage(items(5, 4, 3, 2, 1), first.next!, 2);
    expect(second).toEqual({ items: items(2, 1), next: null });
  });

  test("goes on at its number when the last item is gone", () => {
    const first = resourcePage(items(4, 3, 2, 1), { at: 0 }, 2);
    expect(resourcePage(items(4, 2, 1), first.next!, 2).items).toEqual(items(1));
  });
});

describe("a source that is not asked", () => {
  test("is listed as failed where the caller names it", async () => {
    const register = registerWith(() => ({
      core: [["names.legal", "Alpina Technik AG"], identifier("lei", LEI)],
    }));
    expect((await register.get(`lei:${LEI}`))!.refresh).toMatchObject([
      { source: "gleif", result: "refreshed" },
    ]);
    for (const refresh of [false, true]) {
      const named = (await register.get(`lei:${LEI}`, { sources: ["gleif", "zefix"], refresh }))!;
      expect(named.refresh).toMatchObject([
        { source: "gleif", result: refresh ? "refreshed" : "fresh" },
        { source: "zefix", group: "core", result: "failed", error: "not_configured" },
      ]);
    }
  });

  test("is told with an identifier that it alone would look up", async () => {
    const register = registerWith(() => ({ kind: "not_found", documents: [] }));
    const unknown = async (reference: string) =>
      (await register.find(reference)).refresh.map(({ source, error }) => `${source} ${error}`);
    expect(await unknown(`ch_uid:${UID}`)).toEqual(["zefix not_configured"]);
    expect(await unknown(`lei:${LEI}`)).toEqual(["gleif not_found"]);
  });
});
