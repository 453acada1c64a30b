/** The adapter and the whole slice against a real metasearch server, Debian's searx 1.1. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { metasearchEngine } from "../../../../actors/sources/search/adapters/engine.metasearch.ts";
import type { EngineAnswer, Question } from "../../../../actors/sources/search/engine.ts";
import { merge, fallbackReason } from "../../../../actors/sources/search/merge.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import { type Hit, hasSearx, searx, type Searx, type Upstream } from "../../../harness/searx.ts";

const installed = hasSearx();
if (!installed)
  console.warn("Skipped: search against a real metasearch server. To run it: apt-get install searx");

const RECAPTCHA = { status: 503, body: '<script src="https://www.google.com/recaptcha/api.js"></script>' };
const hits = (name: string, count = 3): Hit[] =>
  Array.from({ length: count }, (_, at) => ({
    url: `http://${name}.example/${at}`,
    title: `${name}  <b>${at}</b>`,
    content: `About ${name} ${at}`,
  }));

describe.skipIf(!installed)("a real searx", () => {
  const clock = systemClock();
  const started: { close: () => Promise<void> }[] = [];
  afterAll(async () => {
    for (const each of started.toReversed()) await each.close();
  });

  async function instance(engines: Record<string, Upstream>) {
    const server: Searx = await searx(engines);
    const egress = undiciEgress({ judge: onlyTo(new URL(server.url)) });
    started.push(server, egress);
    const engine = metasearchEngine({ egress, clock, url: server.url });
    const ask = (overrides: Partial<Question> = {}): Promise<EngineAnswer> =>
      engine.ask(
        {
          query: "tide mill",
          project: null,
          language: null,
          country: null,
          freshness: null,
          max_results: 20,
          ...overrides,
        },
        AbortSignal.timeout(18_000),
      );
    return { ask, asked: server.asked, log: server.log };
  }

  describe("whose engines work", () => {
    let it: Awaited<ReturnType<typeof instance>>;
    beforeAll(async () => {
      it = await instance({
        alpha: (query) => (query.includes("nothing") ? [] : hits("a")),
        beta: (query) =>
          query.includes("nothing")
            ? []
            : [{ url: "http://a.example/1", title: "The same", content: "Said by beta" }],
      });
    });

    test("gives results, each engine by its name, and nothing to complain of", async () => {
      const answer = await it.ask();
      expect(answer).toMatchObject({ kind: "answered", unresponsive: [] });
      if (answer.kind === "failed") return;
      const results = merge([answer.results], { freshness: null, now_ms: clock.now() });
      expect(results.map(({ url }) => url).toSorted()).toEqual([0, 1, 2].map((n) => `http://a.example/${n}`));
      const both = results.find(({ url }) => url === "http://a.example/1")!;
      expect(both.engines.toSorted()).toEqual(["alpha", "beta"]);
      // The result that both engines know comes first.
      expect(both.rank).toBe(1);
      expect(results.find(({ url }) => url.endsWith("/0"))).toMatchObject({
        title: "a 0",
        snippets: ["About a 0"],
        engines: ["alpha"],
      });
      expect(fallbackReason(answer, results.length)).toBeNull();
      expect(it.asked).toContain("alpha tide mill");
    });

    test("that find nothing is an answer", async () => {
      expect(await it.ask({ query: "nothing" })).toEqual({
        kind: "answered",
        results: [],
        unresponsive: [],
        billed: 0,
      });
    });

    test.each([
      { query: "plain words" },
      { query: "in german", language: "de" },
      { query: "in swiss german", language: "de-CH" },
      { query: "of a week", freshness: "week" },
      { query: "ü & ? #x 東京" },
    ] as const)("understands %j", async (overrides) => {
      expect(await it.ask(overrides)).toMatchObject({ kind: "answered" });
      expect(it.asked).toContain(`alpha ${overrides.query}`);
    });
  });

  test("distinguishes captcha from other failures", async () => {
    const { ask, log } = await instance({
      alpha: () => hits("a"),
      walled: () => RECAPTCHA,
      busy: () => ({ status: 429, body: "" }),
      broken: () => ({ status: 500, body: "" }),
      gone: () => "hang up",
    });
    const answer = await ask();
    if (answer.kind === "failed") throw new Error(`${answer.detail}:\n${log()}`);
    expect(answer.results).toHaveLength(3);
    expect(answer.unresponsive.toSorted((a, b) => a.engine.localeCompare(b.engine))).toEqual([
      { engine: "broken", captcha: false },
      { engine: "busy", captcha: false },
      { engine: "gone", captcha: false },
      { engine: "walled", captcha: true },
    ]);
    expect(fallbackReason(answer, 3)).toBe("captcha_engines");
  });
});
