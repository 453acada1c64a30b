/** The built-in search over stored pages: what is found, what is replaced, what goes first when there is no room. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { localIndex } from "../../../../actors/sources/search/adapters/engine.local.sqlite.ts";
import type {
  IndexedPage,
  IndexLimits,
} from "../../../../actors/sources/search/adapters/page-rows.sqlite.ts";
import type { Question } from "../../../../actors/sources/search/engine.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";

const folder = mkdtempSync(join(tmpdir(), "trawl-index-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const NOW_MS = Date.UTC(2026, 10, 21);
const DAY_MS = 86_400_000;

function oneIndex(
  limits: Partial<IndexLimits> = {},
  path = join(folder, `${files++}.sqlite`),
  isShared = true,
) {
  const clock = virtualClock(NOW_MS);
  const open = () => localIndex({ path, clock, isShared, ...silentTelemetry(), limits });
  const index = open();
  const add = (name: string, text: string, more: Partial<IndexedPage> = {}) =>
    index.add({
      url: `http://a.example/${name}`,
      project: null,
      sha256: null,
      title: name,
      text,
      language: "en",
      published_at: null,
      ...more,
    });
  const names = async (query: string, overrides: Partial<Question> = {}, on = index) => {
    const question = {
      query,
      project: null,
      language: null,
      country: null,
      freshness: null,
      max_results: 20,
      ...overrides,
    };
    const answer = await on.engine.ask(question, new AbortController().signal);
    if (answer.kind === "failed") throw new Error(answer.detail);
    return answer.results.map(({ url }) => url.split("/").at(-1)!);
  };
  return { index, clock, add, names, open };
}

describe("a page is found", () => {
  test.each([
    ["by its words, however they are written", "ZURICH lake", ["zürich"]],
    ["by letters with their marks", "Zürich", ["zürich"]],
    ["by most of many words", "when does the ferry sail across lake zürich", ["zürich"]],
    ["not by one word of two", "lake unicorn", []],
    ["not by half of four", "lake zürich unicorn griffin", []],
    ["by a phrase", '"steam boats"', ["zürich"]],
    ["not by a phrase it does not have", '"boats steam"', []],
    ["not by no words", "?!", []],
    ["not by what nobody wrote", "xyzzy", []],
    ["by words that are operators elsewhere", "NOT boats", ["zürich"]],
    ["by other writing", "東京駅", ["tokyo"]],
    ["by one letter after another, marks and quotes in between", `"lake" AND (zürich*)`, ["zürich"]],
  ])("%s: %s", async (_, query, expected) => {
    const { add, names } = oneIndex();
    add("zürich", "When does the ferry not sail? Steam boats cross the lake of Zürich in summer.");
    add("tokyo", "東京駅 は 東京 の 駅 です");
    expect(await names(query)).toEqual(expected);
  });

  test("first when the word is in the title", async () => {
    const { add, names } = oneIndex();
    add("other", "This one talks of a lighthouse once among many other words of no matter.");
    add("lighthouse", "It was lit in 1871 and nobody has lived there for many years now.");
    expect(await names("lighthouse")).toEqual(["lighthouse", "other"]);
  });

  test("with the text around the words", async () => {
    const { add, index } = oneIndex();
    add("long", `${"before ".repeat(200)}the needle in the hay${" after".repeat(200)}`);
    const answer = await index.engine.ask(
      { query: "needle", project: null, language: null, country: null, freshness: null, max_results: 5 },
      new AbortController().signal,
    );
    expect(answer).toMatchObject({
      kind: "answered",
      results: [
        { title: "long", engines: ["local_index"], snippets: [expect.stringContaining("the needle in")] },
      ],
    });
  });

  test("with its own title and words, beside others that have the same", async () => {
    const { add, index } = oneIndex();
    for (const name of ["a", "b", "c"]) add(name, `boat number ${name}`);
    const answer = await index.engine.ask(
      { query: "boat", project: null, language: null, country: null, freshness: null, max_results: 5 },
      new AbortController().signal,
    );
    if (answer.kind === "failed") throw new Error(answer.detail);
    expect(
      answer.results.map(({ url, title, snippets }) => `${url} ${title} ${snippets[0]}`).toSorted(),
    ).toEqual(["a", "b", "c"].map((name) => `http://a.example/${name} ${name} boat number ${name}`));
  });

  test("in its language, or without a language", async () => {
    const { add, names } = oneIndex();
    add("english", "boat", { language: "en" });
    add("swiss", "boat", { language: "de-CH" });
    add("unknown", "boat", { language: null });
    expect((await names("boat", { language: "de" })).toSorted()).toEqual(["swiss", "unknown"]);
    expect((await names("boat", { language: "DE-at" })).toSorted()).toEqual(["swiss", "unknown"]);
    expect(await names("boat")).toHaveLength(3);
  });

  test("of a recent period, by when it was published, else stored", async () => {
    const { add, names, clock, index } = oneIndex();
    add("old", "boat", { published_at: "2025-01-01" });
    add("fresh", "boat", { published_at: "2026-11-20T18:00:00Z" });
    add("undated", "boat");
    index.pages();
    expect((await names("boat", { freshness: "day" })).toSorted()).toEqual(["fresh", "undated"]);
    await clock.advance(8 * DAY_MS);
    expect(await names("boat", { freshness: "week" })).toEqual([]);
    expect((await names("boat", { freshness: "month" })).toSorted()).toEqual(["fresh", "undated"]);
    expect(await names("boat")).toHaveLength(3);
  });

  test("and no more of them than asked for", async () => {
    const { add, names } = oneIndex();
    for (let page = 0; page < 30; page++) add(`p${page}`, "boat");
    expect(await names("boat", { max_results: 7 })).toHaveLength(7);
  });
});

test("a word that is on very many pages does not hide those with a rare one beside it", async () => {
  const { add, names } = oneIndex();
  add("needle", "the needle in the hay");
  for (let page = 0; page < 5_100; page++) add(`hay${page}`, "the hay");
  expect(await names("the needle")).toEqual(["needle"]);
  expect(await names("the unicorn")).toEqual([]);
  expect(await names("the hay", { max_results: 3 })).toHaveLength(3);
});

describe("what changes", () => {
  test("a page that is stored again takes its own place", async () => {
    const { add, names, index } = oneIndex();
    add("before", "words that stay");
    add("page", "first words");
    add("after", "words that stay");
    index.pages();
    add("page#part", "second words");
    expect(await names("first")).toEqual([]);
    expect(await names("second")).toEqual(["page#part"]);
    expect((await names("stay")).toSorted()).toEqual(["after", "before"]);
    expect(index.pages()).toBe(3);
  });

  test("a page that is gone is not found", async () => {
    const { add, names, index } = oneIndex();
    for (const name of ["a", "b", "c"]) add(name, "words");
    index.remove({ url: "http://a.example/b", project: null });
    index.remove({ url: "http://a.example/never", project: null });
    index.remove({ url: "no address", project: null });
    expect((await names("words")).toSorted()).toEqual(["a", "c"]);
    expect(index.pages()).toBe(2);
  });

  test("changes the revision, and nothing else does", async () => {
    const { add, names, index } = oneIndex();
    const before = index.revision();
    await names("words");
    expect(index.revision()).toBe(before);
    add("page", "words");
    expect(index.revision()).not.toBe(before);
  });

  test("is written after 500 ms at most, together with those that came meanwhile", async () => {
    const { add, clock, index } = oneIndex();
    const revision = Number(index.revision());
    for (let page = 0; page < 5; page++) {
      add(`p${page}`, "words");
      await clock.advance(100);
    }
    add("later", "words");
    expect(Number(index.revision())).toBe(revision + 2);
    expect(index.pages()).toBe(6);
  });

  test("is there after a restart", async () => {
    const { add, names, index, open } = oneIndex();
    add("page", "words");
    const revision = index.revision();
    index.close();
    const again = open();
    expect(await names("words", {}, again)).toEqual(["page"]);
    expect([again.pages(), again.revision()]).toEqual([1, revision]);
    again.close();
  });
});

describe("what is stored longest goes first", () => {
  test.each([
    ["when there are too many pages", { pages: 3 }],
    ["when there are too many letters", { chars: 3 * 120 }],
  ])("%s", async (_, limits) => {
    const { add, names, clock, index } = oneIndex(limits);
    for (const name of ["a", "b", "c", "d", "e"]) {
      add(name, `boat ${"x".repeat(100)}`);
      index.pages();
      await clock.advance(1);
    }
    expect((await names("boat")).toSorted()).toEqual(["c", "d", "e"]);
  });

  test("after thirty days in any case, but not pinned pages", async () => {
    const { add, names, clock, index } = oneIndex();
    add("old", "boat");
    add("demo", "boat", { pinned: true });
    index.pages();
    await clock.advance(31 * DAY_MS);
    add("new", "boat");
    expect((await names("boat")).toSorted()).toEqual(["demo", "new"]);
    index.unpin(["http://a.example/other"]);
    expect(await names("boat")).toEqual(["new"]);
  });

  test("and of a very long page the beginning is searched", async () => {
    const { add, names } = oneIndex({ text_chars: 100 });
    add("long", `beginning ${"x ".repeat(100)} end`);
    expect(await names("beginning")).toEqual(["long"]);
    expect(await names("end")).toEqual([]);
  });
});

test("no query breaks it", async () => {
  const { add, names } = oneIndex();
  add("page", "some words and a few more");
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ unit: "binary", maxLength: 200 }),
        fc.stringMatching(/^["*:^(){}+\-A-Z .]{0,40}$/),
      ),
      async (query) => {
        await names(query);
      },
    ),
    { numRuns: 500 },
  );
  expect(await names("some words")).toEqual(["page"]);
});

describe("pages of two projects", () => {
  const two = (limits: Partial<IndexLimits> = {}) => {
    const it = oneIndex(limits, undefined, false);
    const found = async (project: string | null, query = "boat") =>
      (await it.names(query, { project })).toSorted();
    return { ...it, found };
  };

  test("are found by the project that retrieved them, and demo pages by both", async () => {
    const { add, found } = two();
    add("a", "boat of the first", { project: "first" });
    add("b", "boat of the second", { project: "second" });
    add("demo", "boat of the demo", { pinned: true });
    expect(await found("first")).toEqual(["a", "demo"]);
    expect(await found("second")).toEqual(["b", "demo"]);
    expect(await found("third")).toEqual(["demo"]);
    expect(await found(null)).toEqual(["demo"]);
    expect(await found("second", '"of the first"')).toEqual([]);
    expect(await found("second", "first) OR (boat")).not.toContain("a");
  });

  test("are each project's own: what one replaces or loses stays as it is for the other", async () => {
    const { add, found, index } = two();
    for (const project of ["first", "second"]) add("page", `boat of the ${project}`, { project });
    add("page", "a ferry now", { project: "first" });
    expect([await found("first"), await found("second")]).toEqual([[], ["page"]]);
    index.remove({ url: "http://a.example/page", project: "second" });
    expect([await found("first", "ferry"), await found("second")]).toEqual([["page"], []]);
  });

  test("are found by a second project that retrieved the same bytes of the same address, and by no other", async () => {
    const { add, found, index } = two();
    const sha256 = "a".repeat(64);
    add("page", "boat", { project: "first", sha256 });
    const url = "http://a.example/page";
    index.share({ url, project: "second", sha256 });
    index.share({ url, project: "third", sha256: "b".repeat(64) });
    index.share({ url: "http://a.example/other", project: "fourth", sha256 });
    expect(await found("second")).toEqual(["page"]);
    expect([await found("third"), await found("fourth")]).toEqual([[], []]);
    const revision = index.revision();
    index.share({ url, project: "second", sha256 });
    expect(index.pages()).toBe(2);
    expect(index.revision()).toBe(revision);
  });

  test("make room from the project that has the most", async () => {
    const { add, found } = two({ pages: 10 });
    add("small", "boat", { project: "second" });
    for (let page = 0; page < 30; page++) add(`p${page}`, "boat", { project: "first" });
    expect(await found("second")).toEqual(["small"]);
    expect(await found("first")).toHaveLength(9);
  });

  test("rank among themselves: very many pages of one do not hide those of the other", async () => {
    const { add, names } = two();
    add("mine", "the boat", { project: "second" });
    for (let page = 0; page < 5_100; page++) add(`p${page}`, "the boat", { project: "first" });
    expect(await names("boat", { project: "second" })).toEqual(["mine"]);
  });

  test("that all projects found are removed when each is to find its own", async () => {
    const path = join(folder, `${files++}.sqlite`);
    const shared = oneIndex({}, path, true);
    shared.add("page", "boat", { project: null });
    shared.add("demo", "boat", { pinned: true });
    expect((await shared.names("boat", { project: "first" })).toSorted()).toEqual(["demo", "page"]);
    shared.index.close();
    const own = oneIndex({}, path, false);
    expect(await own.names("boat", { project: "first" })).toEqual(["demo"]);
  });
});
