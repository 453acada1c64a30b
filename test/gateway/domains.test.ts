/** The memory of a domain, shown to the operator and forgotten at a word: real actors behind a real gateway. */
import { describe, expect, test } from "vitest";
import { createCustomer, createProject } from "../../actors/business/accounts/keys.ts";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { hostProfileActor } from "../../actors/crawl/fetch/host-profile.actor.ts";
import { siteNamed } from "../../actors/lib/web/url.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import { domainRoutes } from "../../actors/crawl/fetch/feature/domain-routes.ts";
import { Domain } from "../../schemas/domain.ts";
import { HostProfile, type Observation } from "../../schemas/fetch.ts";
import { gatewayHarness, NOON_MS } from "../harness/gateway-harness.ts";

async function remembering() {
  const clock = virtualClock(NOON_MS);
  const documents = memoryDocuments();
  const { ask } = embedded(
    [domainActor({ min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 }), hostProfileActor()],
    {
      clock,
      random: seededRandom(1),
      documents,
    },
  );
  const hostsOf = async (site: string, limit: number) =>
    (await documents.list("host_profile", { from: `${site} `, to: `${site}!`, limit })).map(({ key }) =>
      key.slice(site.length + 1),
    );
  const more = domainRoutes({ ask, siteOf: (host) => siteNamed(host), hostsOf });
  const gateway = await gatewayHarness({ more });
  const observe = async (host: string, ...observations: readonly Observation[]) => {
    for (const observation of observations)
      await ask(HostProfile, `example.org ${host}`, "recordObservation", { observation, segment: "" });
    await clock.advance(0);
  };
  const call: typeof gateway.call = (method, target, request) =>
    gateway.call(method, target, { key: gateway.operator, ...request });
  return { ...gateway, call, cluster: ask, observe, time: clock };
}

const PATH = "/v1/ops/domains/example.org";

describe("a domain's memory", () => {
  test("of one without requests is empty", async () => {
    const { call } = await remembering();
    expect(await call("GET", PATH)).toMatchObject({
      status: 200,
      json: {
        domain: "example.org",
        min_delay_ms: 500,
        max_concurrency: 2,
        in_flight: 0,
        waiting: 0,
        skips: [],
        slowed: [],
        dead_hosts: [],
        hosts: [],
      },
    });
  });

  test("shows the skip, dead hosts and host profiles, and DELETE leaves none of it", async () => {
    const { call, cluster, observe, time } = await remembering();
    for (const fetch_id of ["a", "b", "c"])
      await cluster(Domain, "example.org", "recordOutcome", {
        caller: { fetch_id, project: "default", is_open: true },
        url: "https://www.example.org/",
        result: "every_route_failed",
      });
    for (const fetch_id of ["d", "e"])
      await cluster(Domain, "example.org", "reportNxdomain", { fetch_id, host: "old.example.org" });
    await observe("www.example.org", "premium_only", "premium_only", "premium_only");
    await observe("shop.example.org", "premium_blocked", "premium_blocked");
    await observe("free.example.org", "standard_served");
    // A neighbour in the order of keys is none of it.
    await cluster(HostProfile, "example.orga x.example.orga", "recordObservation", {
      observation: "premium_only",
      segment: "",
    });
    await time.advance(0);

    const { json } = await call("GET", PATH);
    expect(json).toMatchObject({
      skips: [
        {
          origin: "https://www.example.org",
          project: "default",
          failures: 3,
          skip_until: "2026-11-21T12:10:00.000Z",
        },
      ],
      dead_hosts: [{ host: "old.example.org", until: "2026-11-21T18:00:00.000Z" }],
    });
    expect(json.hosts).toEqual([
      { host: "shop.example.org", premium: "unknown", until: null, premium_only: 0, premium_blocked: 2 },
      {
        host: "www.example.org",
        premium: "required",
        until: "2026-11-22T12:00:00.000Z",
        premium_only: 3,
        premium_blocked: 0,
      },
    ]);

    const cleared = await call("DELETE", PATH);
    expect(cleared).toMatchObject({
      status: 200,
      json: { skips: [], dead_hosts: [], hosts: [] },
    });
    expect((await call("GET", PATH)).json).toEqual(cleared.json);
    expect(await cluster(HostProfile, "example.org www.example.org", "recall", { segment: "" })).toEqual({
      premium: "unknown",
    });
    expect((await call("GET", "/v1/ops/domains/example.orga")).json.hosts).toHaveLength(1);
  });

  test("is changed by POST at once, and taken back with null", async () => {
    const { call, time } = await remembering();
    const change = { min_delay_ms: 2_000, max_concurrency: 1, pause_s: 90 };
    expect(await call("POST", PATH, { body: change })).toMatchObject({
      status: 200,
      json: {
        min_delay_ms: 2_000,
        max_concurrency: 1,
        operator: { min_delay_ms: 2_000, max_concurrency: 1, paused_until: "2026-11-21T12:01:30.000Z" },
        hosts: [],
      },
    });
    await time.advance(0);
    expect((await call("POST", PATH, { body: { pause_s: null } })).json.operator).toEqual({
      min_delay_ms: 2_000,
      max_concurrency: 1,
      paused_until: null,
    });
    const back = { min_delay_ms: null, max_concurrency: null };
    expect((await call("POST", PATH, { body: back })).json).toMatchObject({
      min_delay_ms: 500,
      operator: null,
    });
    expect((await call("POST", PATH, { body: { max_concurrency: 0 } })).json.detail[0].loc).toEqual([
      "body",
      "max_concurrency",
    ]);
  });

  test("is the site's, whichever of its hosts is named", async () => {
    const { call } = await remembering();
    for (const [named, site] of [
      ["www.Example.org", "example.org"],
      ["example.org.", "example.org"],
      ["a.github.io", "a.github.io"],
      ["192.0.2.7", "192.0.2.7"],
      ["2001:db8::1", "2001:db8::1"],
      ["%5B2001:db8::1%5D", "2001:db8::1"],
      ["b%C3%BCcher.example", "xn--bcher-kva.example"],
    ])
      expect((await call("GET", `/v1/ops/domains/${named}`)).json.domain).toBe(site);
  });

  test.each(["a%20b", "a%2Fb", "example.org%3A8080", "user%40example.org", "..", "a..b", "x%3Fy"])(
    "of %s, which is no host, is 422",
    async (named) => {
      const { call } = await remembering();
      const answer = await call("GET", `/v1/ops/domains/${named}`);
      expect(answer.status).toBe(422);
      expect(answer.json.detail[0].loc).toEqual(["path", "domain"]);
    },
  );

  test.each(["GET", "DELETE", "POST"])(
    "is for the operator: %s with other keys is refused",
    async (method) => {
      const { call, key, documents, clock } = await remembering();
      const body = method === "POST" ? { body: { pause_s: null } } : {};
      expect((await call(method, PATH, { key: null, ...body })).status).toBe(401);
      const standard = await call(method, PATH, { key: await key(), ...body });
      expect([standard.status, standard.json.detail.error]).toEqual([403, "operator_only"]);
      await createCustomer(documents, { name: "acme", external: true, currency: "EUR" }, clock.now());
      await createProject(documents, { name: "theirs", customer: "acme" }, clock.now());
      const theirs = await call(method, PATH, {
        key: await key({ project: "theirs", role: "account_admin" }),
        ...body,
      });
      expect([theirs.status, theirs.json.detail.error]).toEqual([403, "operator_only"]);
      const admin = await call(method, PATH, { key: await key({ role: "account_admin" }), ...body });
      expect([admin.status, admin.json.detail.error]).toEqual([403, "operator_only"]);
      expect((await call(method, PATH, body)).status).toBe(200);
    },
  );

  test("is an operation of operators, not of clients", async () => {
    const { call } = await remembering();
    expect((await call("GET", "/openapi.json", { key: null })).json.paths["/v1/ops/domains/{domain}"]).toBe(
      undefined,
    );
    const { paths } = (await call("GET", "/openapi-operator.json", { key: null })).json;
    expect(paths["/v1/ops/domains/{domain}"]).toMatchObject({
      get: { operationId: "viewDomain", tags: ["internal"] },
      delete: { operationId: "clearDomain", tags: ["internal"] },
    });
  });
});
