/** Places of a tier that one project's pages that never end leave for another project. Over HTTP. */
import { beforeAll, describe, expect, test } from "vitest";
import { createKeys } from "../harness/project-keys.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate } from "../harness/web.ts";

const CAPACITY = 3;
/** So many that each node of a cluster owns some of them. */
const SITES = 20;

describe.each(SETUPS)("the places of a tier, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => ({ TRAWL_TIER_CAPACITY: `direct=${CAPACITY}` }));
  const keys = { greedy: "", other: "" };
  beforeAll(async () => {
    await createKeys(service, keys);
  });

  test("one is left on each node for a project that called within the last minute", async () => {
    const held = gate();
    let reached = 0;
    const slow = Array.from({ length: SITES }, () =>
      sites.site({
        "/robots.txt": { status: 404 },
        "/": () => {
          reached++;
          return held.opened.then(() => ({ body: article("Slow") }));
        },
      }),
    );
    const quick = Array.from({ length: SITES }, () => sites.site({ "*": { body: article("Quick") } }));
    const fetchAll = (project: keyof typeof keys, of: readonly { readonly origin: string }[], path: string) =>
      of.map((site) =>
        service.fetch(
          { url: `${site.origin}${path}`, tiers: ["direct"], render: "never", timeout_s: 60 },
          { key: keys[project] },
        ),
      );
    await Promise.all(fetchAll("other", quick, "/first"));

    const greedy = Promise.all(fetchAll("greedy", slow, "/"));
    // They end with the service when something fails before.
    greedy.catch(() => {});
    await expect.poll(() => reached, { timeout: 20_000 }).toBeGreaterThanOrEqual(CAPACITY - 1);
    const second = await Promise.all(fetchAll("other", quick, "/second"));
    const answers = second.map(({ error, title, attempts }) => ({ error, title, attempts }));
    expect(answers.filter(({ error, title }) => error !== null || title !== "Quick")).toEqual([]);

    held.open();
    // None was refused for the sake of the other: those that waited had their turn.
    for (const answer of await greedy) expect(answer).toMatchObject({ error: null, title: "Slow" });
  });
});
