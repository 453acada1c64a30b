import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { addressActor } from "../../../../actors/sources/upstream/address.actor.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { addressContract, type SourceAnswer, SourceRequestFields } from "../../../../schemas/upstream.ts";

const Request = Type.Object({ kind: Type.String(), ...SourceRequestFields });
type Request = Type.Static<typeof Request>;
const Address = addressContract<Request>("test_address", Request, "test");

const MISSING: SourceAnswer = { kind: "missing", url: "u", status: 404, requests: 1 };
const TIMED_OUT: SourceAnswer = {
  kind: "failed",
  error: "timeout",
  message: "The time ran out",
  retry_after_s: null,
  status: null,
  redirects: [],
  requests: 1,
};

/** An address whose fetches take a second; `answers` are those of the fetches in order, "missing" after them. */
function address(answers: SourceAnswer[] = []) {
  const clock = virtualClock(Date.UTC(2026, 0, 1));
  const fetches: Request[] = [];
  const actor = addressActor(Address, async (_ask, _work, request) => {
    fetches.push(request);
    const { promise, resolve } = Promise.withResolvers<void>();
    clock.at(clock.now() + 1_000, resolve);
    await promise;
    return answers.shift() ?? MISSING;
  });
  const documents = memoryDocuments();
  const { ask } = embedded([actor], { clock, random: seededRandom(1), documents });
  return {
    clock,
    fetches,
    get: (ask_id: string, rest: Partial<Request> = {}) =>
      ask(Address, "egress digest", "get", {
        path: "/",
        kind: "page",
        cache_ttl_s: null,
        project: "p",
        lane: "sync",
        deadline_ms: clock.now() + 10_000,
        max_bytes: 1_000,
        ...rest,
        ask_id,
      }),
  };
}

describe("an address", () => {
  test("is fetched once for callers that ask for the same, and again for a caller that wants it fresher", async () => {
    const { get, fetches, clock } = address();
    const answers = [get("a"), get("b"), get("c", { cache_ttl_s: 0 })];
    await clock.advance(1_000);
    expect(await answers[0]).toEqual(MISSING);
    expect(await answers[1]).toEqual(MISSING);
    expect(fetches.map(({ cache_ttl_s }) => cache_ttl_s)).toEqual([null, 0]);
    await clock.advance(1_000);
    expect(await answers[2]).toEqual(MISSING);
    expect(fetches).toHaveLength(2);
  });

  test("is not fetched for a caller whose time is over", async () => {
    const { get, fetches, clock } = address();
    const late = get("late", { deadline_ms: clock.now() - 1_000 });
    await clock.advance(0);
    expect(await late).toMatchObject({ kind: "failed", error: "timeout" });
    expect(fetches).toHaveLength(0);
  });

  test("answers a caller at its deadline although the fetch continues", async () => {
    const { get, clock } = address();
    const answer = get("a", { deadline_ms: clock.now() + 100 });
    await clock.advance(600);
    expect(await answer).toMatchObject({ kind: "failed", error: "timeout" });
  });

  test("answers a caller under each address from which it asked", async () => {
    const { get, fetches, clock } = address();
    const answers = Promise.all([get("a"), get("a")]);
    await clock.advance(1_000);
    expect(await answers).toEqual([MISSING, MISSING]);
    expect(fetches).toHaveLength(1);
  });

  test("is fetched again for callers with more time than a fetch that ran out of time", async () => {
    const { get, fetches, clock } = address([TIMED_OUT]);
    const short = get("short", { deadline_ms: clock.now() + 1_100 });
    const long = get("long");
    await clock.advance(1_000);
    expect(await short).toEqual(TIMED_OUT);
    await clock.advance(1_000);
    expect(await long).toEqual(MISSING);
    expect(fetches).toHaveLength(2);
  });

  test("that runs out of time before its caller is not fetched again for that caller", async () => {
    const { get, fetches, clock } = address(Array.from({ length: 20 }, () => TIMED_OUT));
    const answer = get("a");
    await clock.advance(9_000);
    expect(await answer).toEqual(TIMED_OUT);
    expect(fetches).toHaveLength(1);
  });
});
