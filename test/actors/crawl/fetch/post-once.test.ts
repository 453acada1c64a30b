/** A POST is sent once: by one route of one run. */
import { describe, expect, test } from "vitest";
import { POSTS } from "../../../../actors/crawl/fetch/collections.ts";
import type { UnsealedFetch } from "../../../../schemas/fetch.ts";
import { answer, failure, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const post: Pick<UnsealedFetch, "own_request"> = {
  own_request: { given: { headers: [], cookies: [], method: "POST", body: "a=1" }, is_cached: false },
};

describe("a POST", () => {
  test.each([
    ["a page", answer(HTML), null],
    ["a thin page", answer("<p>thin"), null],
    ["a block", answer("no", 403), "all_tiers_failed"],
    ["a broken connection", failure("network_reset"), "all_tiers_failed"],
    ["a lost node", failure("direct_lost"), "all_tiers_failed"],
  ])("is not sent by another route after %s", async (_, outcome, error) => {
    const taken: string[] = [];
    const { get, clock } = await oneService({
      direct: () => (taken.push("direct"), outcome),
      browser: () => (taken.push("browser"), answer(HTML)),
    });
    expect((await running(clock, get(post))).error).toBe(error);
    expect(taken).toEqual(["direct"]);
  });

  test("is sent by the next route when the first took no call", async () => {
    const { get, clock } = await oneService({
      direct: () => failure("direct_unavailable"),
      browser: () => answer(HTML),
    });
    expect(await running(clock, get(post))).toMatchObject({ error: null, record: { tier: "browser" } });
  });

  test("is not sent by a run that begins again", async () => {
    let sent = 0;
    const { get, clock, documents } = await oneService({ direct: () => (sent++, answer(HTML)) });
    await POSTS.put(documents, "again", { at_ms: 0 }, 0);
    expect(await running(clock, get({ ...post, fetch_id: "again" }))).toMatchObject({
      error: "post_not_repeated",
    });
    expect(await running(clock, get(post))).toMatchObject({ error: null });
    expect(sent).toBe(1);
  });

  test("of a GET with the same fields is no POST: every route may be tried", async () => {
    const own_request = {
      given: { headers: [["X-Api-Key", "k"] as const], cookies: [], method: "GET" as const, body: null },
      is_cached: false,
    };
    const { get, clock } = await oneService({ direct: () => answer("no", 403), browser: () => answer(HTML) });
    expect(await running(clock, get({ own_request } as object))).toMatchObject({
      record: { tier: "browser" },
    });
  });
});
