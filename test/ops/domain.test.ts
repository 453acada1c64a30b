/** `trawl domain` as it is read by people: against a real socket, with answers as the service gives them. */
import { expect, test } from "vitest";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import { domainRoutes } from "../../actors/crawl/fetch/feature/domain-routes.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import type { DomainView } from "../../schemas/domain.ts";
import type { HostProfileView } from "../../schemas/fetch.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const VIEW: DomainView = {
  domain: "example.org",
  min_delay_ms: 500,
  max_concurrency: 2,
  in_flight: 1,
  waiting: 3,
  skips: [
    { origin: "https://example.org", project: null, failures: 6, skip_until: "2026-11-21T12:30:00.000Z" },
    { origin: "https://example.org", project: "news", failures: 3, skip_until: "2026-11-21T12:10:00.000Z" },
    { origin: "https://example.org:8443", project: "research", failures: 1, skip_until: null },
  ],
  slowed: [
    { origin: "https://www.example.org", delay_ms: 2_000, paused_until: "2026-11-21T12:01:00.000Z" },
    { origin: "*", delay_ms: 0, paused_until: "2026-11-21T12:02:00.000Z" },
  ],
  dead_hosts: [{ host: "old.example.org", until: "2026-11-21T18:00:00.000Z" }],
  operator: null,
};
const TAUGHT: HostProfileView = {
  premium: "required",
  until: "2026-11-22T12:00:00.000Z",
  premium_only: 3,
  premium_blocked: 0,
};
const FORGOTTEN: HostProfileView = { premium: "unknown", until: null, premium_only: 0, premium_blocked: 0 };

test("shows a domain as text, clears and changes it, and reports that", async () => {
  let cleared = false;
  const configured: unknown[] = [];
  // Only the view of a domain, not that of a host profile, has a pace.
  const ask = async (of: { name: string }, _: string, operation: string, message: unknown) => {
    if (operation === "configure") configured.push(message);
    cleared ||= operation === "clear";
    if (of.name === "host_profile") return cleared ? FORGOTTEN : TAUGHT;
    return cleared
      ? {
          ...VIEW,
          in_flight: 0,
          waiting: 0,
          skips: [],
          slowed: [],
          dead_hosts: [],
        }
      : VIEW;
  };
  const routes = domainRoutes({
    ask: ask as never,
    siteOf: () => "example.org",
    hostsOf: async () => ["www.example.org"],
  });
  const { admit, failed, operator } = await gatewayHarness({ more: routes });
  const listening = await listenNode(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
  const run = async (...words: string[]) => {
    const output = { out: [] as string[], err: [] as string[] };
    const code = await trawl(words, {
      environment: { TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator },
      config: () => readConfig({ TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator }),
      openDocuments: async () => memoryDocuments(),
      openNodeDirectory: () => Promise.reject(new Error("not here")),
      now: () => 0,
      out: (line) => void output.out.push(line),
      err: (line) => void output.err.push(line),
      starting: () => Promise.reject(new Error("not here")),
      version: "0.0.0",
    });
    return { code, out: output.out.join("\n"), err: output.err.join("\n") };
  };

  expect(await run("domain", "www.example.org")).toEqual({
    code: 0,
    out: [
      "example.org: 500 ms between requests, 1 of 2 slots in use, 3 callers waiting",
      "https://example.org: failed fetches in a row of all projects: 6; skipped for all until 2026-11-21T12:30:00.000Z",
      "https://example.org: failed fetches in a row of project news: 3; skipped for it until 2026-11-21T12:10:00.000Z",
      "https://example.org:8443: failed fetches in a row of project research: 1",
      "https://www.example.org: closed by Retry-After until 2026-11-21T12:01:00.000Z",
      "https://www.example.org: 2000 ms between requests",
      "origins that are not known: closed by Retry-After until 2026-11-21T12:02:00.000Z",
      "old.example.org does not exist, until 2026-11-21T18:00:00.000Z",
      "host             premium routes  until                     only premium  premium blocked",
      "www.example.org  required        2026-11-22T12:00:00.000Z  3             0",
    ].join("\n"),
    err: "",
  });
  expect(JSON.parse((await run("domain", "example.org", "--json")).out)).toEqual({
    ...VIEW,
    hosts: [{ host: "www.example.org", ...TAUGHT }],
  });
  expect(cleared).toBe(false);
  expect(await run("domain", "example.org", "--clear")).toEqual({
    code: 0,
    out: "example.org: 500 ms between requests, 0 of 2 slots in use, 0 callers waiting",
    err: "Cleared failures, skips, dead hosts and host profiles of example.org.",
  });
  for (const words of [
    ["--delay", "2000", "--concurrency", "1"],
    ["--delay", "default", "--concurrency", "default"],
    ["--resume"],
  ])
    expect(await run("domain", "example.org", ...words)).toMatchObject({ code: 0 });
  expect(configured).toEqual([
    { min_delay_ms: 2_000, max_concurrency: 1 },
    { min_delay_ms: null, max_concurrency: null },
    { paused_until_ms: null },
  ]);
  expect(await run("domain", "example.org", "--delay", "soon")).toMatchObject({ code: 2 });
  expect(await run("domain")).toMatchObject({ code: 2 });
  expect(await run("domain", "example.org", "--key", "ak_wrong_0123456789abcdef")).toMatchObject({ code: 4 });
  await listening.close(0);
});
