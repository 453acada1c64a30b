import { describe, expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../../../actors/crawl/domain/robots.actor.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { type FakeWeb, fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Domain, Robots, type RobotsRequest, type SlotRequest } from "../../../../schemas/domain.ts";

const SITE = "example.org";
const ORIGIN = "https://www.example.org";
const FILE = `${ORIGIN}/robots.txt`;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PRIVATE = "User-agent: *\nDisallow: /private";

const body = (text: string, status = 200) => ({ status, body: text });
const to = (location: string, status = 302) => ({ status, headers: { Location: location } });

interface World {
  readonly crawler_name?: string;
  readonly clock?: ReturnType<typeof virtualClock>;
  readonly documents?: ReturnType<typeof memoryDocuments>;
  readonly joined?: ReadonlyMap<string, string>;
}

function world(web: FakeWeb, { crawler_name = "trawl", joined, ...rest }: World = {}) {
  const { clock = virtualClock(Date.UTC(2026, 0, 1)), documents = memoryDocuments() } = rest;
  const egress = fakeEgress(web, clock);
  const deps = {
    egress,
    clock,
    crawler_name,
    user_agent: `${crawler_name}/1.0`,
    ...(joined ? { joined } : {}),
  };
  const { ask, stop } = embedded(
    [domainActor({ min_delay_ms: 500, max_concurrency: 2, lease_ms: 600_000 }), robotsActor(deps)],
    {
      clock,
      random: seededRandom(1),
      documents,
    },
  );
  let asked = 0;
  const check = (path: string, more: Partial<RobotsRequest> = {}, key = `${SITE} ${ORIGIN}`) =>
    ask(Robots, key, "check", {
      url: `${key.split(" ")[1]}${path}`,
      fetch_id: `f${++asked}`,
      lane: "sync",
      wait_max_ms: 15_000,
      ...more,
    });
  /** Asks, and lets so much time pass as reading needs. */
  const checked = async (path: string, more: Partial<RobotsRequest> = {}, key?: string) => {
    const answer = check(path, more, key);
    await clock.advance(20_000);
    return answer;
  };
  const hits = () => egress.hits.map(({ url }) => url);
  /** A page of the site is asked for, and its request leaves at once. */
  const page = async (site: string, slot: Omit<SlotRequest, "fetch_id" | "run_id">) => {
    expect(await ask(Domain, site, "acquire", { fetch_id: "page", run_id: "1", ...slot })).toMatchObject({
      kind: "granted",
    });
    await ask(Domain, site, "recordSent", { fetch_id: "page", run_id: "1", origin: slot.origin });
  };
  return { ask, stop, page, check, checked, hits, egress, clock, documents };
}

const ALLOWED = { kind: "allowed", reason: "rules" };
const NO_RULES = { kind: "allowed", reason: "no_rules" };
const DISALLOWED = { kind: "disallowed", reason: "rules" };
const SHUT = { kind: "disallowed", reason: "robots_unreachable" };
const LADDER = { kind: "allowed", reason: "host_unreachable" };

test("a file whose exchanges were not kept is read anew for an archive, once", async () => {
  const { checked, hits, stop } = world({ [FILE]: body(PRIVATE) });
  await checked("/a");
  expect(await checked("/a", { archive: true })).toMatchObject(ALLOWED);
  expect(hits()).toEqual([FILE, FILE]);
  await checked("/b", { archive: true });
  await checked("/c");
  expect(await checked("/private", { archive: true })).toMatchObject(DISALLOWED);
  expect(hits()).toEqual([FILE, FILE]);
  await stop();
});

test("an archive's check that joins another read waits for one of its own, which answers both kinds", async () => {
  const { check, checked, clock, hits, stop } = world({ [FILE]: { ...body(PRIVATE), after_ms: 1_000 } });
  const plain = check("/a");
  const archived = check("/b", { archive: true });
  const other = check("/c");
  await clock.advance(20_000);
  expect(await Promise.all([plain, archived, other])).toMatchObject([ALLOWED, ALLOWED, ALLOWED]);
  expect(hits()).toEqual([FILE, FILE]);
  await checked("/d", { archive: true });
  expect(hits()).toEqual([FILE, FILE]);
  await stop();
});

describe("what the answer to robots.txt means", () => {
  const rule600K = `User-agent: *\n${"# nothing\n".repeat(60_000)}Disallow: /private`;
  const hops = (n: number) =>
    Object.fromEntries([
      [FILE, to("/r1")],
      ...Array.from({ length: n - 1 }, (_, i) => [`${ORIGIN}/r${i + 1}`, to(`/r${i + 2}`)]),
      [`${ORIGIN}/r${n}`, body(PRIVATE)],
    ]) as FakeWeb;

  test.each([
    ["200", { [FILE]: body(PRIVATE) }, DISALLOWED, 1],
    ["200 and empty", { [FILE]: body("") }, NO_RULES, 1],
    ["200 and a web page", { [FILE]: body("<!doctype html><title>Not found</title>") }, NO_RULES, 1],
    ["204", { [FILE]: { status: 204 } }, NO_RULES, 1],
    ["404", { [FILE]: body("Disallow: /", 404) }, NO_RULES, 1],
    ["401", { [FILE]: body("", 401) }, NO_RULES, 1],
    ["403", { [FILE]: body("", 403) }, NO_RULES, 1],
    ["410", { [FILE]: body("", 410) }, NO_RULES, 1],
    ["429", { [FILE]: body("", 429) }, SHUT, 1],
    ["500", { [FILE]: body(PRIVATE, 500) }, SHUT, 1],
    ["503", { [FILE]: body("", 503) }, SHUT, 1],
    ["304 unasked", { [FILE]: { status: 304 } }, SHUT, 1],
    ["a time-out after the connection", { [FILE]: { problem: "timeout", connected: true } }, SHUT, 1],
    ["no answer for 15 s", { [FILE]: { ...body(PRIVATE), after_ms: 16_000 } }, SHUT, 1],
    ["a reset", { [FILE]: { problem: "network_reset" } }, SHUT, 1],
    ["no HTTP", { [FILE]: { problem: "network_protocol" } }, SHUT, 1],
    ["a broken coding", { [FILE]: { ...body(PRIVATE), breaks: "network_encoding" } }, SHUT, 1],
    ["a body that breaks off", { [FILE]: { ...body("User-agent: *\n"), breaks: "network_reset" } }, SHUT, 1],
    ["no such host", {}, LADDER, 1],
    ["a refused connection", { [FILE]: { problem: "network_refused" } }, LADDER, 1],
    ["no route", { [FILE]: { problem: "network_unreachable" } }, LADDER, 1],
    ["no TLS", { [FILE]: { problem: "tls_error" } }, LADDER, 1],
    ["a time-out before the connection", { [FILE]: { problem: "timeout", connected: false } }, LADDER, 1],
    ["5 redirects", hops(5), DISALLOWED, 6],
    ["6 redirects", hops(6), NO_RULES, 6],
    ["a redirect to itself", { [FILE]: to(FILE) }, NO_RULES, 6],
    ["a redirect to nowhere", { [FILE]: { status: 301 } }, NO_RULES, 1],
    ["a redirect to no http", { [FILE]: to("ftp://example.org/robots.txt") }, NO_RULES, 1],
    ["a redirect to 404", { [FILE]: to("/gone") }, NO_RULES, 2],
    ["a redirect to 500", { [FILE]: to("/broken"), [`${ORIGIN}/broken`]: body("", 500) }, SHUT, 2],
    ["600 KiB, the only rule at their end", { [FILE]: body(rule600K) }, NO_RULES, 1],
  ] as [string, FakeWeb, object, number][])("%s", async (_, web, answer, hits) => {
    const { ask, checked, egress } = world(web);
    expect(await checked("/private/x")).toMatchObject(answer);
    expect((await ask(Domain, SITE, "view", null)).in_flight).toBe(0);
    // A second check at once needs no second read: one request a host.
    expect(await checked("/private/x", {})).toMatchObject(answer);
    expect(egress.hits.length).toBe(hits);
  });

  test.each([301, 302, 303, 307, 308])("a redirect by %s is followed", async (status) => {
    const { checked } = world({
      [FILE]: to("/real.txt", status),
      [`${ORIGIN}/real.txt`]: body(PRIVATE),
    });
    expect(await checked("/private")).toMatchObject(DISALLOWED);
  });

  test("an endless file is read to its limit and let go", async () => {
    let pieces = 0;
    function* endless() {
      for (;;) {
        pieces++;
        yield Buffer.from("User-agent: *\nDisallow: /private\n".repeat(512));
      }
    }
    const { checked } = world({ [FILE]: () => ({ status: 200, body: endless() }) });
    expect(await checked("/private")).toMatchObject(DISALLOWED);
    expect(pieces).toBeLessThan(40);
  });

  test("a private destination is passed on, also behind a redirect", async () => {
    const blocked = { kind: "blocked", error: "blocked_destination" };
    const first = world({ [FILE]: { problem: "blocked_destination" } });
    expect(await first.checked("/")).toEqual(blocked);
    const inner = "http://169.254.169.254/robots.txt";
    const second = world({ [FILE]: to(inner), [inner]: { problem: "blocked_destination" } });
    expect(await second.checked("/")).toEqual(blocked);
  });
});

describe("an answer", () => {
  test("quotes the line, the group and when it was read", async () => {
    const { checked } = world({ [FILE]: body(`User-agent: *\n\n${PRIVATE.split("\n")[1]}`) });
    expect(await checked("/private/x")).toEqual({
      ...DISALLOWED,
      detail:
        '"Disallow: /private" for "*" in line 3 of "https://www.example.org/robots.txt", read 2026-01-01T00:00:00.000Z',
    });
    expect(await checked("/public")).toEqual(ALLOWED);
  });

  test("names why the rules could not be read", async () => {
    const { checked } = world({ [FILE]: body("", 503) });
    expect(await checked("/x")).toEqual({
      ...SHUT,
      detail:
        'Cannot read "https://www.example.org/robots.txt" (http_503), and there is no copy of the last 30 days',
    });
  });

  test("about /robots.txt itself is always yes, and needs no reading", async () => {
    const { check, hits } = world({ [FILE]: body("User-agent: *\nDisallow: /") });
    expect(await check("/robots.txt")).toEqual(ALLOWED);
    expect(hits()).toEqual([]);
  });

  test("is the crawler's own group, not that of *, when the file names the crawler", async () => {
    const web = { [FILE]: body("User-agent: *\nDisallow: /\n\nUser-agent: trawl\nDisallow:") };
    expect(await world(web).checked("/x")).toEqual(NO_RULES);
    expect(await world(web, { crawler_name: "other" }).checked("/x")).toMatchObject(DISALLOWED);
  });

  test("for another scheme or port is from that one's file", async () => {
    const { checked, hits } = world({
      [FILE]: body(PRIVATE),
      "http://www.example.org:8080/robots.txt": body(""),
    });
    expect(await checked("/private")).toMatchObject(DISALLOWED);
    const other = `${SITE} http://www.example.org:8080`;
    expect(await checked("/private", {}, other)).toEqual(NO_RULES);
    expect(hits()).toEqual([FILE, "http://www.example.org:8080/robots.txt"]);
  });

  test("is one read for all checks that arrive meanwhile", async () => {
    const { check, clock, hits } = world({ [FILE]: { ...body(PRIVATE), after_ms: 1_000 } });
    const answers = ["/a", "/private", "/b"].map((path) => check(path));
    await clock.advance(500);
    answers.push(check("/private/late"));
    await clock.advance(500);
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual([
      "allowed",
      "disallowed",
      "allowed",
      "disallowed",
    ]);
    expect(hits()).toEqual([FILE]);
  });

  test("can come from rules longer than a message", async () => {
    const long = Array.from({ length: 4_000 }, (_, n) => `Disallow: /${n}/${"x".repeat(100)}`).join("\n");
    const { checked } = world({ [FILE]: body(`User-agent: *\n${long}`) });
    expect(await checked(`/3999/${"x".repeat(100)}/y`)).toMatchObject(DISALLOWED);
    expect(await checked("/other")).toEqual(ALLOWED);
  });
});

describe("what was read", () => {
  test("is believed for 24 h, and then read again", async () => {
    let text = PRIVATE;
    const { checked, clock, hits } = world({ [FILE]: () => body(text) });
    await checked("/");
    text = "";
    await clock.advance(DAY - 60_000);
    expect(await checked("/private")).toMatchObject(DISALLOWED);
    expect(hits()).toHaveLength(1);
    await clock.advance(60_000);
    expect(await checked("/private")).toEqual(NO_RULES);
    expect(hits()).toHaveLength(2);
  });

  test("is renewed when it is unchanged, and so is a 404", async () => {
    for (const page of [body(PRIVATE), body("", 404)]) {
      const { checked, clock, hits } = world({ [FILE]: page });
      for (let day = 0; day < 3; day++) {
        await checked("/");
        await checked("/");
        await clock.advance(DAY);
      }
      expect(hits()).toHaveLength(3);
    }
  });

  test.each([
    ["500", body("", 500)],
    ["429", body("", 429)],
    ["a reset", { problem: "network_reset" } as const],
    // A host that is gone may be back before anyone asks it again.
    ["an unreachable host", { problem: "network_refused" } as const],
  ])("counts for 30 days when later reads end in %s", async (_, failure) => {
    let broken = false;
    const { checked, clock } = world({ [FILE]: () => (broken ? failure : body(PRIVATE)) });
    await checked("/");
    broken = true;
    await clock.advance(29 * DAY);
    expect(await checked("/private")).toMatchObject(DISALLOWED);
    expect(await checked("/public")).toEqual(ALLOWED);
    await clock.advance(DAY);
    const without = "problem" in failure && failure.problem === "network_refused" ? LADDER : SHUT;
    expect(await checked("/public")).toMatchObject(without);
  });

  test("that cannot be read is requested again after five minutes, of an unreachable host after 30 s", async () => {
    for (const [failure, pause_ms] of [
      [body("", 500), 300_000],
      [{ problem: "network_refused" } as const, 30_000],
    ] as const) {
      const { check, clock, hits } = world({ [FILE]: failure });
      await check("/");
      await clock.advance(pause_ms - 1);
      await check("/");
      expect(hits()).toHaveLength(1);
      await clock.advance(1);
      await check("/");
      expect(hits()).toHaveLength(2);
    }
  });

  test("survives the node that read it", async () => {
    const { checked, clock, documents, stop } = world({ [FILE]: body(PRIVATE) });
    await checked("/");
    await stop();
    const other_node = world({ [FILE]: body("", 500) }, { clock, documents });
    expect(await other_node.checked("/private")).toMatchObject(DISALLOWED);
    expect(other_node.hits()).toEqual([]);
  });

  test("is not believed for a crawler of another name", async () => {
    const { checked, clock, documents, stop } = world({ [FILE]: body(PRIVATE) });
    await checked("/");
    await stop();
    const file = body("User-agent: other\nDisallow: /public");
    const other_node = world({ [FILE]: file }, { clock, documents, crawler_name: "other" });
    expect(await other_node.checked("/public")).toMatchObject(DISALLOWED);
  });
});

describe("reading is polite", () => {
  test("declares itself", async () => {
    const { checked, egress } = world({ [FILE]: body("") });
    await checked("/");
    expect(egress.hits[0]?.request.headers[0]).toEqual(["User-Agent", "trawl/1.0"]);
  });

  test("takes a slot of its domain, and hands it back", async () => {
    const { ask, page, check, clock, egress } = world({ [FILE]: { ...body(PRIVATE), after_ms: 100 } });
    const slot = { origin: "https://www.example.org", lane: "sync", wait_max_ms: 15_000 } as const;
    const begun_ms = clock.now();
    await page(SITE, slot);
    const answer = check("/x");
    await clock.advance(600);
    expect(await ask(Domain, SITE, "view", null)).toMatchObject({ in_flight: 2 });
    await clock.advance(1_000);
    await answer;
    expect(egress.hits[0]!.at_ms - begun_ms).toBe(501);
    expect(await ask(Domain, SITE, "view", null)).toMatchObject({ in_flight: 1 });
  });

  test("takes a slot of each site that redirects lead to", async () => {
    const there = "https://cdn.example.net/robots.txt";
    const { page, checked, egress, clock } = world({ [FILE]: to(there), [there]: body(PRIVATE) });
    const slot = { origin: "https://cdn.example.net", lane: "sync", wait_max_ms: 15_000 } as const;
    const begun_ms = clock.now();
    await page("example.net", slot);
    expect(await checked("/private")).toMatchObject(DISALLOWED);
    expect(egress.hits.map(({ url, at_ms }) => [url, at_ms - begun_ms])).toEqual([
      [FILE, 0],
      [there, 501],
    ]);
  });

  test.each([
    [
      "the name under which an operator joined that site",
      new Map([["profiles.test", "profiles.example"]]),
      SHUT,
    ],
    ["that site itself when it is not joined", new Map<string, string>(), NO_RULES],
  ])("takes it of %s", async (_, joined, answer) => {
    const there = "https://www.profiles.test/robots.txt";
    const { ask, checked } = world({ [FILE]: to(there), [there]: body("") }, { joined });
    for (const fetch_id of ["a", "b", "c"]) {
      await ask(Domain, "profiles.example", "recordOutcome", {
        caller: { fetch_id, project: "default", is_open: true },
        url: there,
        result: "every_route_failed",
      });
    }
    const caller = { fetch_id: "d", project: "default", is_open: true };
    expect(await checked("/", { caller })).toMatchObject(answer);
  });

  test("keeps the delay between its own redirects", async () => {
    const { checked, egress } = world({
      [FILE]: to("/a"),
      [`${ORIGIN}/a`]: to("/b"),
      [`${ORIGIN}/b`]: body(""),
    });
    await checked("/");
    const at = egress.hits.map(({ at_ms }) => at_ms - egress.hits[0]!.at_ms);
    expect(at).toEqual([0, 501, 1_002]);
  });

  test("reports a Crawl-delay to the domain before any check is answered, and reports its end", async () => {
    let text = "User-agent: *\nCrawl-delay: 5\nDisallow: /private";
    const { ask, checked, check, clock } = world({ [FILE]: () => body(text) });
    await check("/");
    const slot = {
      fetch_id: "page",
      run_id: "1",
      origin: ORIGIN,
      lane: "sync",
      wait_max_ms: 15_000,
    } as const;
    const granted = ask(Domain, SITE, "acquire", slot);
    await clock.advance(5_001);
    expect(await granted).toEqual({ kind: "granted", waited_ms: 5_001 });
    text = PRIVATE;
    await clock.advance(DAY);
    await checked("/");
    expect(await ask(Domain, SITE, "view", null)).toMatchObject({ min_delay_ms: 500, slowed: [] });
  });

  test("a 429 with Retry-After closes the origin, and no other of its domain", async () => {
    const { ask, checked } = world({ [FILE]: { status: 429, headers: { "Retry-After": "60" } } });
    expect(await checked("/")).toMatchObject(SHUT);
    const slot = {
      fetch_id: "page",
      run_id: "1",
      origin: ORIGIN,
      lane: "sync",
      wait_max_ms: 15_000,
    } as const;
    expect(await ask(Domain, SITE, "acquire", slot)).toMatchObject({
      error: "domain_busy",
      retry_after_s: 41,
    });
    const other = { ...slot, fetch_id: "other", origin: "https://shop.example.org" };
    expect(await ask(Domain, SITE, "acquire", other)).toMatchObject({ kind: "granted" });
  });

  test("a domain that grants no slot refuses the check with its own reason", async () => {
    const { ask, check, hits } = world({ [FILE]: body("") });
    for (const fetch_id of ["a", "b", "c"]) {
      const caller = { fetch_id, project: "default", is_open: true };
      await ask(Domain, SITE, "recordOutcome", { caller, url: FILE, result: "every_route_failed" });
    }
    const caller = { fetch_id: "d", project: "default", is_open: true };
    expect(await check("/", { caller })).toEqual({
      kind: "refused",
      error: "domain_unavailable",
      retry_after_s: 600,
    });
    expect(hits()).toEqual([]);
  });

  test("a check that can wait longer than the first one has a read of its own", async () => {
    const { page, check, clock, hits } = world({ [FILE]: body(PRIVATE) });
    await page(SITE, { origin: "https://www.example.org", lane: "sync", wait_max_ms: 0 });
    const hasty = check("/private", { wait_max_ms: 100 });
    const patient = check("/private", { wait_max_ms: 60_000, lane: "batch" });
    await clock.advance(2_000);
    expect(await hasty).toMatchObject({ kind: "refused", error: "domain_busy" });
    expect(await patient).toMatchObject(DISALLOWED);
    expect(hits()).toEqual([FILE]);
  });
});
