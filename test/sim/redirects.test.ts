/**
 * Redirects to other sites on a simulated cluster: the real domain actor and the real admission of requests. Connections
 * are slow, so partitions of both sites move between a grant and its request. The checker of scenario.ts measures the
 * gaps at every site, redirects included.
 */
import { Type } from "typebox";
import { expect, inject, test } from "vitest";
import { domainActor } from "../../actors/domain/actor.ts";
import { admit } from "../../actors/fetch/admission.ts";
import { newRun, limitsOf } from "../../actors/fetch/run.ts";
import { actor, type ActorClient, DEFERRED, type ReplyTo } from "../../cluster/actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { Fault } from "../../cluster/ports/fault.ts";
import { ask, contract, tell } from "../../schemas/contract.ts";
import { Robots } from "../../schemas/domain.ts";
import { DEFAULT_REQUEST } from "../harness/fetch-request.ts";
import { CHANCES, DELAY_MS, ITEMS, simulate, type Subject, type SimulatedWorld } from "./scenario.ts";
import { isRepeated, onSeed, seeds } from "./seeds.ts";

const SITES = 12;
const MAX_CONNECT_MS = 3_000;
const VISIT_MS = 100_000;
const Visited = Type.Object({ item: Type.String(), result: Type.Union([Type.String(), Type.Null()]) });
type Visit = { item: string; result: string | null };

const Visits = contract(
  "visit",
  { make: ask(Type.Object({ item: Type.String() }), Visited) },
  { made: tell(Visited) },
  { shard_by: "domain" },
);

/** Allows everything: robots.txt is another test's business. */
const openRobots = () =>
  actor(Robots)<null>({
    activate: () => null,
    passivate_after_ms: 60_000,
    on: { check: () => ({ kind: "allowed", reason: "rules" }), loaded() {} },
  });

/** `isTold` false: the domain is not told that the request comes from another site. */
const visitor = (world: SimulatedWorld, isTold: boolean) =>
  actor(Visits)<ReplyTo<Visit>[]>({
    activate: () => [],
    passivate_after_ms: 60_000,
    on: {
      make(turn, { item }) {
        turn.state.push(turn.deferReply());
        if (turn.state.length > 1) return DEFERRED;
        const site = turn.key.split(" ")[0]!;
        const target = `s${world.chance(SITES)}.example`;
        turn.pipeToSelf("made", async (client, work) => {
          const now = () => world.now();
          const clock = { now, wall: now, mono: now, at: () => ({ [Symbol.dispose]() {} }), resync() {} };
          const telling = ((of: unknown, key: string, operation: string, message: object, options: object) =>
            (client as (...all: unknown[]) => unknown)(
              of,
              key,
              operation,
              operation === "acquire" && !isTold ? { ...message, redirected: false } : message,
              options,
            )) as ActorClient;
          const began_ms = now();
          const deadline_ms = began_ms + VISIT_MS;
          const request = { ...DEFAULT_REQUEST, fetch_id: item, url: `http://${site}/`, deadline_ms };
          const run = newRun(
            {
              request,
              limits: limitsOf(request),
              attempts: [],
              digest: item,
              stored: Promise.resolve(null),
              stale: null,
            },
            { ask: telling, work, signal: work.signal, began_ms, endsAt: () => deadline_ms, room: null },
            { routes: {} },
          );
          const deps = { clock, log: silentTelemetry().log };
          for (const host of [site, target]) {
            const admission = await admit(deps, run, `http://${host}/`);
            if (admission.kind === "refused") return { item, result: null };
            const isSlow = host !== site && world.chance(2) === 0;
            await world.sleep(isSlow ? world.chance(MAX_CONNECT_MS) : world.chance(30));
            if (!admission.beforeSend()) {
              admission.release({ status: null, retry_after_s: null });
              throw new Fault("lease_lost", "Another node owns it by now");
            }
            const exchange = world.start({ site: host, item, granted_ms: world.trueNow(), work });
            admission.onSent();
            await world.sleep(300);
            admission.release(exchange.end());
          }
          return { item, result: `${item} of ${site}` };
        });
        return DEFERRED;
      },
      made(turn, visited) {
        for (const to of turn.state) turn.answer(to, visited);
        turn.state = [];
      },
    },
  });

const subject = (isTold: boolean): Subject => ({
  actors: (world) => [
    domainActor({ min_delay_ms: DELAY_MS, max_concurrency: 2, lease_ms: 60_000 }),
    openRobots(),
    visitor(world, isTold),
  ],
  shardBy: { domain: "domain" },
  want: async (client, site, item) =>
    (await client(Visits, `${site} ${item}`, "make", { item }, { timeout_ms: VISIT_MS })).result,
  wrong: () => null,
});

test.each(seeds(8))("gaps are kept at the site a redirect leads to, whatever moves (seed %i)", (seed) =>
  onSeed(seed, async () => {
    const trace = await simulate(seed, subject(true));
    expect(trace.at(-1)).toContain(`${ITEMS} answered`);
    if (isRepeated) process.stderr.write(`${trace.join("\n")}\n`);
  }),
);

test("a domain that is not told of redirects is caught", async () => {
  // Not every course leads there. Nothing else goes wrong than that partitions move.
  const calm = { ...CHANCES, call_late: 0, call_failed: 0, answer_lost: 0, envelope_repeated: 0 };
  const first = inject("seed");
  const ends: string[] = [];
  for (let n = 0; n < 20 && !ends.some((end) => end.includes("was hit after")); n++)
    ends.push(await simulate(first + n, subject(false), calm).then(String, ({ message }: Error) => message));
  expect(ends).toContainEqual(expect.stringMatching(/was hit after \d+ ms/));
});
