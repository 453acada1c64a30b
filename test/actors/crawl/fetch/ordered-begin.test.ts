/**
 * A fetch begins with a write that is ordered and perhaps not durable (PutOptions.ordered). What it asks outside comes after a
 * grant, which is stored later and durable, or after `synced`.
 */
import { expect, test } from "vitest";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

/** With enough different words that a copy of it could be recognised. */
const STORY = HTML.replace(
  "<p>",
  `<p>${Array.from({ length: 80 }, (_, n) => `word${n} ${String.fromCharCode(97 + (n % 26))}tide`).join(" ")}. `,
);

type Service = Awaited<ReturnType<typeof oneService>>;

/** From now on nothing that was only ordered becomes durable before it is let. */
function holdSync({ documents }: Service): () => void {
  const held = Promise.withResolvers<void>();
  documents.synced = () => held.promise;
  return () => held.resolve();
}

test("the system that reads a reserved host is asked when the request is durable", async () => {
  let asked = 0;
  const service = await oneService(
    {},
    {
      reservedHosts: {
        isReserved: () => true,
        async fetch() {
          asked++;
          return {
            kind: "failed",
            error: "all_tiers_failed",
            status: null,
            detail: "",
            retry_after_s: null,
            redirects: [],
            ms: 5,
          };
        },
      },
    },
  );
  const release = holdSync(service);
  const fetched = service.get({ tiers: ["direct"] });
  await service.clock.advance(1_000);
  expect(asked).toBe(0);
  release();
  expect((await running(service.clock, fetched)).error).toBe("all_tiers_failed");
  expect(asked).toBe(1);
});

test("the project's search is asked for a copy when the request is durable", async () => {
  let isGone = false;
  const queries: string[] = [];
  const service = await oneService(
    { direct: () => (isGone ? answer("gone", 404) : answer(STORY)) },
    {
      sources: {
        user_agent: "trawl/1",
        search: async (_ask, query) => {
          queries.push(query);
          return { urls: [], cost_micros: 0 };
        },
      },
    },
  );
  await running(service.clock, service.get());
  isGone = true;
  const release = holdSync(service);
  const fetched = service.get({ cache_ttl_s: 0, allow_archive: false });
  await service.clock.advance(1_000);
  expect(queries).toEqual([]);
  release();
  expect((await running(service.clock, fetched)).error).toBe("http_404");
  expect(queries).toHaveLength(1);
});

test("a request leaves when its grant is durable", async () => {
  let sent = 0;
  const service = await oneService({
    direct: () => {
      sent++;
      return answer(HTML);
    },
  });
  const { documents, clock } = service;
  const before = { ...documents };
  const stored = Promise.withResolvers<void>();
  documents.put = async (...given) => {
    if (given[0] === "domain") await stored.promise;
    return before.put(...given);
  };
  const fetched = service.get({ cache_ttl_s: 0 });
  await clock.advance(1_000);
  expect(sent).toBe(0);
  stored.resolve();
  expect((await running(clock, fetched)).error).toBeNull();
  expect(sent).toBe(1);
});
