/** Each request to a source has a slot of its own, also when two callers ask for the same address at the same moment. */
import { expect, test } from "vitest";
import { sourceHttp } from "../../../../actors/sources/companies/source-http.ts";
import { limiterActor } from "../../../../actors/sources/upstream/limiter.actor.ts";
import { sendWithSlot } from "../../../../actors/sources/upstream/slot-egress.ts";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { bodyRefs } from "../../../../cluster/body-refs.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { limiterContract } from "../../../../schemas/upstream.ts";
import { SOURCE_SLOTS } from "../../../../actors/sources/companies/source-slots.ts";

const ADDRESS = "https://register.example/companies?q=alpina";

test("two searches for one name at one moment are two requests, and both are answered", async () => {
  const clock = virtualClock(Date.UTC(2026, 10, 23));
  const documents = memoryDocuments();
  const limiter = limiterContract("company_limiter_register", "company_sources");
  const web = fakeEgress({ [ADDRESS]: { status: 200, body: "{}" } }, clock);
  const { ask, stop } = embedded(
    [
      limiterActor(limiter, {
        documents,
        clock,
        collection: SOURCE_SLOTS,
        limits: {
          max_starts_per_second: 6,
          first_pause_ms: 10_000,
          max_pause_ms: 600_000,
          probe_timeout_ms: 30_000,
        },
        requests_per_second: 5,
        max_in_flight: 4,
        events: { onAnswered() {}, onWaited() {}, onPauseLevel() {}, onStoreFailed() {} },
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  const http = () =>
    sourceHttp(
      {
        ask,
        send: sendWithSlot(web, clock),
        clock,
        blobs: memoryBlobs(),
        bodyRefs: bodyRefs(documents),
        user_agent: "trawl",
      },
      {
        source: "register",
        limiter,
        project: "default",
        lane: "sync",
        signal: new AbortController().signal,
        ownsKey: () => true,
        retention_ms: 1_000,
      },
    );
  const answers = Promise.all([http(), http()].map((send) => send({ method: "GET", url: ADDRESS })));
  await clock.advance(2_000);
  expect(await answers).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(web.hits.map(({ at_ms }) => at_ms - web.hits[0]!.at_ms)).toEqual([0, 200]);
  const more = Promise.all(Array.from({ length: 60 }, () => http()({ method: "GET", url: ADDRESS })));
  await clock.advance(10_000);
  const refused = (await more).filter(({ kind }) => kind === "failed");
  expect(refused.length).toBeGreaterThan(10);
  for (const each of refused) expect(each).toMatchObject({ error: "rate_limited", has_no_slot: true });
  await stop(0);
});
