/** robots.txt through the whole service: what it allows, what the answer says when it does not, how often it is read. */
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, type Page, redirect } from "../harness/web.ts";

const robots = (...lines: string[]): Page => ({ type: "text/plain", body: lines.join("\n") });

describe.each(SETUPS)("robots.txt, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("is obeyed where it disallows a path, and the answer quotes the line (robots_disallowed)", async () => {
    const site = sites.site({
      "/robots.txt": robots("User-agent: *", "Disallow: /private/", "Allow: /private/open"),
      "/private/a": { body: article("Secret") },
      "/private/open": { body: article("Open") },
      "/": { body: article("Home") },
    });
    const refused = await service.fetch({ url: `${site.origin}/private/a` });
    expect(refused).toMatchObject({
      http: 200,
      error: "robots_disallowed",
      error_detail: expect.stringContaining("Disallow: /private/"),
      status: null,
      tier: null,
      text: "",
      sha256: null,
    });
    expect(refused.attempts).toMatchObject([{ tier: "robots", status: null }]);
    expect(await service.fetch({ url: `${site.origin}/private/open` })).toMatchObject({ error: null });
    expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ error: null });
    expect(site.hits("/private/a")).toBe(0);
    expect(site.hits("/robots.txt")).toBe(1);
  });

  test("is obeyed in the group of the crawler's own name, whatever other groups say", async () => {
    const site = sites.site({
      "/robots.txt": robots("User-agent: *", "Disallow: /", "", "User-agent: Trawl", "Disallow: /mine"),
      "/": { body: article("Home") },
      "/mine": { body: article("Mine") },
    });
    expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ error: null });
    expect(await service.fetch({ url: `${site.origin}/mine` })).toMatchObject({ error: "robots_disallowed" });
  });

  test("is read once for concurrent callers, and across redirects", async () => {
    const target = sites.site({ "/rules": robots("User-agent: *", "Disallow: /no") });
    const site = sites.site({
      "/robots.txt": redirect(`${target.origin}/rules`),
      "/0": { body: article("0") },
      "/1": { body: article("1") },
      "/2": { body: article("2") },
      "/no": { body: article("No") },
    });
    const answers = await Promise.all(
      ["/0", "/1", "/2", "/no"].map((path) => service.fetch({ url: `${site.origin}${path}` })),
    );
    expect(answers.map(({ error }) => error)).toEqual([null, null, null, "robots_disallowed"]);
    expect(site.hits("/robots.txt")).toBe(1);
    expect(target.hits("/rules")).toBe(1);
  });

  // 4xx except 429 means no rules.
  test.each([400, 401, 403, 404, 410, 418])("with status %i has no rules", async (status) => {
    const site = sites.site({ "/robots.txt": { status }, "/": { body: article("Home") } });
    expect(await service.fetch({ url: `${site.origin}/` })).toMatchObject({ error: null });
  });

  test.each([429, 500, 502, 503])(
    "with status %i and without a stored copy disallows everything",
    async (status) => {
      const site = sites.site({ "/robots.txt": { status }, "/": { body: article("Home") } });
      const answer = await service.fetch({ url: `${site.origin}/` });
      expect(answer).toMatchObject({
        http: 200,
        error: "robots_disallowed",
        error_detail: expect.any(String),
      });
      expect(answer.attempts).toMatchObject([{ tier: "robots", reason: "robots_unreachable" }]);
      expect(site.hits("/")).toBe(0);
    },
  );

  test("of a host that does not answer is left to the ladder", async () => {
    const host = sites.name("unreachable", ["127.0.0.1"]);
    const free = sites.port === 65_535 ? 1_024 : 65_535;
    const answer = await service.fetch({ url: `http://${host}:${free}/`, render: "never" });
    expect(answer).toMatchObject({ error: "all_tiers_failed" });
    expect(answer.attempts.map(({ tier, reason }) => `${tier} ${reason}`)).toEqual([
      "direct network_refused",
      "archive not_configured",
      "proxy not_configured",
    ]);
  });

  test("larger than 500 KiB is read up to that size", async () => {
    const filler = "# a comment that fills the file\n".repeat(20_000);
    const site = sites.site({
      "/robots.txt": {
        type: "text/plain",
        body: `User-agent: *\nDisallow: /early\n${filler}Disallow: /late\n`,
      },
      "/early": { body: article("Early") },
      "/late": { body: article("Late") },
    });
    expect(await service.fetch({ url: `${site.origin}/early` })).toMatchObject({
      error: "robots_disallowed",
    });
    expect(await service.fetch({ url: `${site.origin}/late` })).toMatchObject({ error: null });
  });
});
