/** A single table says whose a host is, for the egress, for sockets of other parts, and for fetches. */
import { describe, expect, test } from "vitest";
import { destination } from "../../actors/lib/web/destination.ts";
import { hostOwners, unownedDestination, withoutOwnedHosts } from "../../node/host-owners.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";

const FILINGS = {
  name: "the filing system",
  hosts: ["www.sec.gov", "sec.gov"],
  origins: ["http://127.0.0.1:8001"],
};
const SITE = { name: "the profile site", domains: ["Northdata.com"], isOpenToProxies: true };
const PROXY = { proxy_url: "http://proxy.test" };
const owners = hostOwners([FILINGS, SITE]);

describe("the owner of an address", () => {
  test.each([
    ["https://www.sec.gov/x", FILINGS],
    ["http://WWW.SEC.GOV.:8443/x", FILINGS],
    ["http://127.0.0.1:8001/x", FILINGS],
    ["https://northdata.com/", SITE],
    ["https://a.b.northdata.com:444/x", SITE],
    ["http://127.0.0.1:8002/x", null],
    ["https://x.sec.gov/", null],
    ["https://sec.gov.evil.test/", null],
    ["https://notnorthdata.com/", null],
    ["https://com/", null],
    ["nonsense", null],
  ])("%s", (url, owner) => {
    expect(owners.ownerOf(url)).toBe(owner);
  });

  test("a host has one owner", () => {
    expect(() => hostOwners([FILINGS, { name: "another system", hosts: ["SEC.gov"] }])).toThrow(
      'Cannot start: the host "sec.gov" belongs to the filing system and to another system',
    );
  });
});

describe("what is no owner's own request", () => {
  const web = fakeEgress(
    {
      "https://www.sec.gov/": { status: 200 },
      "https://northdata.com/": { status: 200 },
      "https://example.test/": { status: 200 },
    },
    virtualClock(0),
  );
  const egress = withoutOwnedHosts(web, owners);
  const request = (url: string, via?: typeof PROXY) =>
    ({ url, method: "GET", headers: [], signal: new AbortController().signal, ...(via && { via }) }) as const;

  test("cannot reach an owned host", async () => {
    const refusal = {
      problem: "blocked_destination",
      detail: "Cannot ask the filing system: it is asked through its limiter only",
    };
    expect(await egress.exchange(request("https://www.sec.gov/"))).toMatchObject(refusal);
    expect(await egress.exchange(request("https://www.sec.gov/", PROXY))).toMatchObject(refusal);
    expect(await egress.exchange(request("https://northdata.com/"))).toMatchObject({
      problem: "blocked_destination",
    });
    expect(web.hits).toHaveLength(0);
    expect(await egress.exchange(request("https://example.test/"))).toMatchObject({ status: 200 });
    expect(await egress.exchange(request("https://northdata.com/", PROXY))).toMatchObject({
      status: 200,
    });
  });

  test("is refused an owned host by the rule for sockets too, at an allowed destination as well", () => {
    const rule = unownedDestination(destination({ allow: ["127.0.0.0/8"] }), owners);
    expect([rule.url("http://127.0.0.1:8001/"), rule.url("http://127.0.0.1:8002/")]).toEqual([
      "blocked_destination",
      "allowed",
    ]);
  });
});
