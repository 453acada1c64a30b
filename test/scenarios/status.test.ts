/**
 * The public status of a running service: an archive that fails is seen, an incident is shown, and nothing of what the
 * service knows of its operator and customers is in any answer.
 */
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

/** Two rounds of reports, on a busy machine. */
const MAX_NOTICED_MS = 50_000;
/** Seeded in names of hosts, projects and keys, in addresses of providers and in errors. */
const SECRET = "hidden";

describe.each(SETUPS)("the public status, $setup", ({ start }) => {
  const { sites, service } = scenario(start, (web) => {
    const failing = web.site({ "*": { status: 500, body: `${SECRET} at 10.0.0.7` } }, `${SECRET}-archive`);
    return {
      TRAWL_ARCHIVE_URL: failing.origin,
      TRAWL_SEARXNG_URLS: `${failing.origin}/`,
      TRAWL_FALLBACK_SEARCH_URL: `${failing.origin}/search`,
      TRAWL_FALLBACK_SEARCH_KEY: `${SECRET}-fallback-key`,
    };
  });
  const read = async (path: string) => (await service.call("GET", path, { key: null })).json;

  /** The component once its status is this. */
  async function component(id: string, status: string): Promise<any> {
    for (const began_ms = performance.now(); ; await sleep(1_000)) {
      const now = await read(`/v1/status/components/${id}`);
      if (now.status === status || performance.now() - began_ms > MAX_NOTICED_MS) return now;
    }
  }

  test("shows a failing archive and an incident, and no secret", { timeout: 120_000 }, async () => {
    await service.trawl("project", "create", `${SECRET}-project`);
    const named = ["--project", `${SECRET}-project`, "--label", `${SECRET}-label`];
    const { key, prefix } = await service.trawl("key", "create", ...named);
    // After three failures a site is not asked any more, so there are several.
    const blocked = Array.from({ length: 7 }, (_, n) =>
      sites.site({ "*": { status: 403 } }, `${SECRET}-site-${n}`),
    );
    const fetches = blocked.flatMap(({ origin }) =>
      ["/a", "/b"].map((path) => service.fetch({ url: `${origin}/${SECRET}${path}` }, { key })),
    );
    for (const { error } of await Promise.all(fetches)) expect(error).toBe("all_tiers_failed");
    for (let n = 0; n < 3; n++)
      await service.call("POST", "/v1/search", { key, body: { query: `${SECRET} query ${n}` } });
    const said = ["--message", "We look at it", "--components", "batch_jobs"];
    const { id } = await service.trawl("incident", "open", "Searches fail", ...said);

    expect(await component("archive", "major_outage")).toMatchObject({
      reasons: ["tier_errors"],
      metrics: { success_rate: 0 },
    });
    expect(await component("batch_jobs", "degraded")).toMatchObject({
      reasons: ["incident"],
      incidents: [{ id, updates: [{ message: "We look at it" }] }],
    });
    const status = await read("/v1/status");
    // The archive is not essential.
    expect(status.status).not.toBe("operational");
    expect(status.components.map((each: { id: string }) => each.id)).toContain("storage");
    const { components } = await read("/v1/status/history?hours=1");
    expect(components["archive"].statuses).toContain("major_outage");

    const paths = [
      "/v1/status",
      "/v1/status/summary",
      "/v1/status/history",
      "/v1/status/history?hours=168",
      "/status",
      ...status.components.map((each: { id: string }) => `/v1/status/components/${each.id}`),
    ];
    const secrets = [
      SECRET,
      key,
      prefix,
      service.key,
      hostname(),
      "127.0.0.1",
      "10.0.0.7",
      ".test",
      "/tmp/",
      "://",
    ];
    for (const path of paths) {
      const text = (await service.call("GET", path, { key: null })).bytes.toString();
      expect([path, secrets.filter((secret) => text.includes(secret))]).toEqual([path, []]);
    }
  });
});
