/**
 * Documents of actors do not grow with their traffic: each actor is driven with thousands of different messages, and its document
 * stays below a bound. Accounts and keys: test/actors/business/accounts/actor.test.ts.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../actors/crawl/domain/robots.actor.ts";
import { hostProfileActor } from "../../actors/crawl/fetch/host-profile.actor.ts";
import { profileRoutesActor } from "../../actors/sources/profiles/routes.actor.ts";
import { searchInstancesActor } from "../../actors/sources/search/instances.actor.ts";
import { BUCKET_MS, bucketOf } from "../../actors/business/status/history.ts";
import { statusHistorianActor } from "../../actors/business/status/historian.actor.ts";
import type { ActorClient } from "../../cluster/actor.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { virtualClock, type VirtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { embedded } from "../../cluster/embedded.ts";
import { Domain, Robots } from "../../schemas/domain.ts";
import { HostProfile } from "../../schemas/fetch.ts";
import { encodeStates, pendingCode } from "../../schemas/job-states.ts";
import { type JobRecord, MAX_JOB_ITEMS } from "../../schemas/jobs.ts";
import { ProfileRoutes } from "../../schemas/profiles.ts";
import { Instances, INSTANCES_KEY } from "../../schemas/search.ts";
import { HISTORIAN_KEY, StatusHistorian } from "../../schemas/status.ts";

const MESSAGES = 2_000;
const SITE = "example.org";
const ORIGIN = `http://${SITE}`;
const LONG_NAME = "a-long-name-".repeat(5);

interface Driven {
  readonly ask: ActorClient;
  readonly clock: VirtualClock;
}

/** By collection: the key that is driven, the most bytes of its document, what happens at the bound, and the traffic. */
const BOUNDS: Readonly<
  Record<
    string,
    {
      readonly key: string;
      readonly most: number;
      readonly at_it: string;
      readonly drive: (world: Driven, n: number) => Promise<unknown>;
    }
  >
> = {
  domain: {
    key: SITE,
    most: 64 * 1_024,
    at_it:
      "of 48 failure rows, 16 closed and 32 answering origins, 64 missing names the oldest is forgotten; of 32 slow origins the one that is open first, for all that are not known; slots are as many as the limit",
    async drive({ ask, clock }, n) {
      const host = `${LONG_NAME}${n}.${SITE}`;
      const fetch_id = `f${n}`;
      const caller = { fetch_id, project: `project-${n}`, is_open: n % 2 === 0 };
      await ask(Domain, SITE, "recordOutcome", {
        caller,
        url: `http://${host}:${8_000 + n}/`,
        result: "every_route_failed",
      });
      await ask(Domain, SITE, "recordOutcome", { caller, url: `http://${host}/ok`, result: "answered" });
      await ask(Domain, SITE, "release", {
        fetch_id,
        run_id: "1.1",
        origin: `http://${host}:${7_000 + n}`,
        status: 503,
        retry_after_s: 600,
      });
      await ask(Domain, SITE, "reportNxdomain", { fetch_id, host });
      await ask(Domain, SITE, "setCrawlDelay", { origin: `http://${host}`, crawl_delay_ms: 1_000 + n });
      void ask(Domain, SITE, "acquire", {
        fetch_id,
        run_id: "1.1",
        origin: `http://${SITE}`,
        lane: "sync",
        wait_max_ms: 1,
      });
      await clock.advance(10);
    },
  },
  robots: {
    key: `${SITE} ${ORIGIN}`,
    most: 1_500 * 1_024,
    at_it: "of a longer file 500 KiB are read",
    async drive({ ask, clock }, n) {
      if (n > 0) return;
      const request = { url: `${ORIGIN}/`, fetch_id: "f", lane: "sync", wait_max_ms: 15_000 } as const;
      const answer = ask(Robots, `${SITE} ${ORIGIN}`, "check", request);
      await clock.advance(20_000);
      await answer;
    },
  },
  host_profile: {
    key: SITE,
    most: 8 * 1_024,
    at_it: "of 64 segments of 64 characters the oldest is forgotten",
    drive: ({ ask }, n) =>
      ask(HostProfile, SITE, "recordObservation", {
        observation: "premium_only",
        segment: `${LONG_NAME}${n}`,
      }),
  },
  profile_routes: {
    key: SITE,
    most: 256,
    at_it: "there are two numbers",
    async drive({ ask }, n) {
      await ask(ProfileRoutes, SITE, "recordProxy", { outcome: n % 7 === 0 ? "refused" : "ok" });
      await ask(ProfileRoutes, SITE, "plan", null);
    },
  },
  search_instances: {
    key: INSTANCES_KEY,
    most: 1_024,
    at_it: "only instances that are configured are known",
    drive: ({ ask }, n) =>
      ask(Instances, INSTANCES_KEY, "report", {
        instance: n % 2 === 0 ? "one" : `${LONG_NAME}${n}`,
        failure: "http_500",
        retry_after_s: n,
      }),
  },
  status_history: {
    key: HISTORIAN_KEY,
    most: 16 * 1_024,
    at_it: "what is older than seven days is forgotten",
    async drive({ ask, clock }, n) {
      // 83 days.
      if (n % 50 === 0) await clock.advance(50 * 12 * BUCKET_MS);
      const bucket = bucketOf(clock.now());
      const observations = [{ bucket, codes: { overall: "g", fetch: "g", search: "g" } }];
      await ask(StatusHistorian, HISTORIAN_KEY, "record", { observations });
    },
  },
};

/** Files whose actors store something that this test does not drive, and why it cannot grow. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "business/accounts/actor.ts":
    "test/actors/business/accounts/actor.test.ts drives 2,000 keys and 200,000 jobs",
  "work/callbacks/delivery-behaviour.ts": "one time",
  "crawl/archive/import/import.actor.ts": "one time",
  "crawl/sites/frontier/frontier.actor.ts":
    "test/actors/crawl/sites/crawl.test.ts drives a crawl whose store takes no chunks; the order is as long as the job",
  "sources/companies/feed/feed.actor.ts": "one time",
  "sources/companies/imports/import.actor.ts": "one time",
  "sources/companies/source.actor.ts": "one time",
  "work/jobs/actor.ts": "as large as its items, of which there are at most 50,000: below",
};
const DRIVEN: Readonly<Record<string, string>> = {
  "crawl/domain/actor.ts": "domain",
  "crawl/domain/robots.actor.ts": "robots",
  "crawl/fetch/host-profile.actor.ts": "host_profile",
  "sources/profiles/routes.actor.ts": "profile_routes",
  "sources/search/instances.actor.ts": "search_instances",
  "business/status/historian.actor.ts": "status_history",
};

describe("what an actor stores", () => {
  test("is listed here, for each file with an actor that stores", () => {
    const folder = new URL("../../actors", import.meta.url).pathname;
    const storing = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .filter((path) => /^\s+persist: /m.test(readFileSync(join(folder, path), "utf8")));
    expect(storing.toSorted()).toEqual([...Object.keys(ELSEWHERE), ...Object.keys(DRIVEN)].toSorted());
    expect(Object.values(DRIVEN).toSorted()).toEqual(Object.keys(BOUNDS).toSorted());
  });

  test.each(Object.entries(BOUNDS))("of %s has a bound", async (collection, { key, most, drive }) => {
    const clock = virtualClock(Date.UTC(2026, 0, 1));
    const documents = memoryDocuments();
    const rules = Array.from({ length: 80_000 }, (_, n) => `Disallow: /${LONG_NAME}${n}`);
    const egress = fakeEgress(
      { [`${ORIGIN}/robots.txt`]: { status: 200, body: ["User-agent: *", ...rules].join("\n") } },
      clock,
    );
    const { ask } = embedded(
      [
        domainActor({ min_delay_ms: 0, max_concurrency: 2, lease_ms: 60_000 }),
        robotsActor({ egress, clock, crawler_name: "trawl", user_agent: "trawl" }),
        hostProfileActor(),
        profileRoutesActor(),
        searchInstancesActor(["one", "two"]),
        statusHistorianActor(),
      ],
      { clock, random: seededRandom(1), documents },
    );
    for (let n = 0; n < MESSAGES; n++) await drive({ ask, clock }, n);
    const stored = await documents.get(collection, key);
    const bytes = Buffer.byteLength(JSON.stringify(stored!.value));
    expect(bytes).toBeLessThan(most);
  });

  test("of the largest job, in the worst state it can be in, is 3 MB", () => {
    const worst = new Uint8Array(MAX_JOB_ITEMS).map((_, n) =>
      pendingCode({ attempts: n % 2, has_cooled: false }),
    );
    const indexes = Array.from(worst, (_, n) => n);
    const record: Pick<JobRecord, "states" | "unrecorded" | "carried_micros"> = {
      states: encodeStates(worst),
      unrecorded: indexes,
      carried_micros: Object.fromEntries(indexes.map((n) => [n, 1_000_000])),
    };
    expect(JSON.stringify(record).length).toBeLessThan(3 * 2 ** 20);
  });
});
