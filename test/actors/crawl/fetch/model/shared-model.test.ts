/** Callers of one page at the same time that want values of a language model: which of them ask it, and which pay. */
import { expect, test } from "vitest";
import { readBody } from "../../../../../cluster/read-body.ts";
import type { Chat } from "../../../../../actors/crawl/fetch/model/chat.ts";
import { answer, HTML, oneService, running } from "../../../../harness/fetch-harness.ts";

const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const SAID = { data: { name: "Harbour" }, evidence: [{ path: "/name", quote: "Harbour" }] };
const reading = {
  only_main_content: null,
  include: [],
  exclude: [],
  data: { extract: { schema: SCHEMA } },
};

/** `thinks`: the model answers when its last caller has left. */
async function service({ thinks = false } = {}) {
  let asked = 0;
  const begun = Promise.withResolvers<void>();
  const chat: Chat = {
    model: "small",
    async ask(_, _answer, { signal }) {
      asked += 1;
      begun.resolve();
      if (thinks) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { kind: "failed", reason: "model_timeout", may_have_cost: true, detail: "aborted" };
      }
      const tokens = { prompt_tokens: 1_000, completion_tokens: 100 };
      return { kind: "answered", content: JSON.stringify(SAID), is_cut: false, is_refused: false, tokens };
    },
  };
  const ids: string[] = [];
  const settled: number[] = [];
  const it = await oneService(
    { direct: () => answer(HTML) },
    {
      model: { chat, prices: { input: 1, output: 1 } },
      spending: {
        reserve: async (_, { project }, id) => {
          ids.push(id);
          return project !== "poor";
        },
        settle: async (_, _payer, _id, micros) => void settled.push(micros),
      },
    },
  );
  const get = (project: string, asksModel = true) =>
    it.get({ project, ...(asksModel && { reading }), tiers: ["direct"] });
  const extractOf = async ({ record }: Awaited<ReturnType<typeof get>>) =>
    JSON.parse((await readBody(it.bodies, record.formats_sha256!)).toString()).extract;
  return { ...it, get, extractOf, ids, settled, asked: () => asked, begun: begun.promise };
}

test("callers of one payer share a question, and one of them carries its cost", async () => {
  const { get, clock, asked } = await service();
  const both = await running(clock, Promise.all([get("one"), get("one")]));
  expect(asked()).toBe(1);
  expect(both.map(({ llm_cost_usd }) => llm_cost_usd ?? "").toSorted((a, b) => (a < b ? 1 : -1))).toEqual([
    "0.001100",
    "",
  ]);
  expect(both.map(({ cost_usd }) => Number(cost_usd)).toSorted((a, b) => a - b)).toEqual([0, 0.0011]);
});

test("a caller of another payer asks for itself, also where that has no money", async () => {
  const { get, clock, asked, extractOf, ids } = await service();
  const answers = await running(clock, Promise.all([get("poor"), get("rich")]));
  const [poor, rich] = await Promise.all(answers.map(extractOf));
  expect(poor).toMatchObject({ data: null, errors: [{ path: "", reason: "budget_exhausted" }] });
  expect(rich).toMatchObject({ data: { name: "Harbour" }, errors: [] });
  expect(asked()).toBe(1);
  expect(new Set(ids).size).toBe(2);
  expect(Number(answers[0]!.cost_usd)).toBe(0);
});

test("the last caller that leaves ends the question, and its accounts pay what one question can cost", async () => {
  const { getUntil, clock, begun, settled } = await service({ thinks: true });
  const [first, last] = [new AbortController(), new AbortController()];
  const options = { project: "rich", reading, tiers: ["direct" as const] };
  const both = [getUntil(first.signal, options), getUntil(last.signal, options)];
  await running(clock, begun);
  first.abort();
  await running(clock, both[0]!);
  expect(settled).toEqual([]);
  last.abort();
  await running(clock, both[1]!);
  for (let turn = 0; turn < 10; turn++) await clock.advance(10);
  // A micro for each token: the prompt as it was estimated, and the most that may be written.
  expect(settled).toHaveLength(1);
  expect(settled[0]).toBeGreaterThan(4_096);
  expect(settled[0]).toBeLessThan(4_096 + 1_000);
});

test("a caller that wants no values waits for no model, and gets the page", async () => {
  const { get, getUntil, clock, begun, settled } = await service({ thinks: true });
  const leaving = new AbortController();
  const asking = getUntil(leaving.signal, { project: "rich", reading, tiers: ["direct"] });
  await running(clock, begun);
  expect(await running(clock, get("rich", false))).toMatchObject({ error: null, cost_usd: "0" });
  expect(settled).toEqual([]);
  leaving.abort();
  await running(clock, asking);
});
