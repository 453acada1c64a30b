/** Admission of one request: robots.txt, a slot, ownership of the key; every granted slot is released once. */
import { describe, expect, test } from "vitest";
import { admit, DELEGATED } from "../../../../actors/crawl/fetch/admission.ts";
import type { PageBacklog } from "../../../../actors/crawl/fetch/page-backlog.ts";
import { newRun, limitsOf } from "../../../../actors/crawl/fetch/run.ts";
import { type RobotsCopies, robotsCopies } from "../../../../actors/crawl/domain/robots-copies.ts";
import type { Admission } from "../../../../actors/lib/web/transport.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { GRANT_TTL_MS, type RobotsAnswer, type SlotAnswer } from "../../../../schemas/domain.ts";
import { DEFAULT_REQUEST } from "../../../harness/fetch-request.ts";

const URL_ASKED = "http://www.example.org/page";
const ALLOWED: RobotsAnswer = { kind: "allowed", reason: "rules" };
const GRANTED: SlotAnswer = { kind: "granted", waited_ms: 0 };

interface Answers {
  readonly check?: RobotsAnswer;
  /** An error: the ask fails with it. */
  readonly acquire?: SlotAnswer | Error;
}

/** A run whose actors give these answers; it records the messages it sends them. */
function oneRun(
  { check = ALLOWED, acquire = GRANTED }: Answers = {},
  backlog?: PageBacklog,
  {
    copies,
    ...asked
  }: { readonly copies?: RobotsCopies; readonly archive?: true; readonly is_traced?: true } = {},
) {
  const clock = virtualClock(0);
  const sent: { readonly key: string; readonly operation: string; readonly message: unknown }[] = [];
  const ask = (async (_: unknown, key: string, operation: string, message: unknown) => {
    sent.push({ key, operation, message });
    if (operation === "acquire" && acquire instanceof Error) throw acquire;
    return { check, acquire }[operation];
  }) as unknown as ActorClient;
  const stop = new AbortController();
  const work = { signal: stop.signal, ownsKey: () => !isLost, epoch: 3 };
  let isLost = false;
  const deps = {
    clock,
    log: silentTelemetry().log,
    metrics: silentTelemetry().metrics,
    ...(backlog && { backlog }),
    ...(copies && { robotsByCopy: copies.answerFor }),
    reservedHosts: {
      isReserved: (url: string) => url.includes("reserved"),
      fetch: () => Promise.reject(new Error("no request is sent in this test")),
    },
  };
  const request = { ...DEFAULT_REQUEST, fetch_id: "f", url: URL_ASKED, deadline_ms: 150_000, ...asked };
  const started = {
    request,
    limits: limitsOf(request),
    attempts: [],
    digest: "d",
    stored: Promise.resolve(null),
    stale: null,
  };
  const context = { ask, work, signal: stop.signal, began_ms: 0, endsAt: () => 150_000, room: null };
  const run = newRun(started, context, { routes: {} });
  const operations = () => sent.map(({ operation }) => operation);
  return {
    run,
    sent,
    operations,
    clock,
    stop,
    lose: () => (isLost = true),
    ask: (url = URL_ASKED) => admit(deps, run, url),
  };
}

const only = (from: object, ...names: string[]): object =>
  Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));

type Granted = Extract<Admission, { kind: "admitted" }>;

describe("a request", () => {
  test("tells the domain of another site that a redirect led there", async () => {
    const { ask, sent } = oneRun();
    await ask("http://other.example.org/");
    await ask("http://other.example/");
    const slots = sent.filter(({ operation }) => operation === "acquire");
    expect(slots.map(({ message }) => (message as { redirected: boolean }).redirected)).toEqual([
      false,
      true,
    ]);
  });

  test("that a redirect led to another site is reported every 15 s until it is released, or its run ends", async () => {
    for (const end of ["release", "abort"] as const) {
      const { ask, clock, stop, sent } = oneRun();
      const [own, other] = [await ask("http://other.example.org/"), await ask("http://other.example/")];
      await clock.advance(44_000);
      const reports = () => sent.filter(({ operation }) => operation === "continues");
      const report = {
        key: "other.example",
        operation: "continues",
        message: { fetch_id: "f.2", run_id: "3.0" },
      };
      expect(reports()).toEqual([report, report]);
      if (end === "abort") stop.abort();
      else (other as Granted).release({ status: 200, retry_after_s: null });
      await clock.advance(300_000);
      expect(reports()).toHaveLength(2);
      expect(own.kind).toBe("admitted");
    }
  });

  test("is admitted in a slot of its site, under its own id", async () => {
    const { ask, sent } = oneRun();
    expect((await ask()).kind).toBe("admitted");
    await ask("http://other.example/");
    expect(sent.map(({ key }) => key)).toEqual([
      "example.org http://www.example.org",
      "example.org",
      "other.example http://other.example",
      "other.example",
    ]);
    expect(sent.map(({ message }) => (message as { fetch_id: string }).fetch_id)).toEqual([
      "f.1r",
      "f.1",
      "f.2r",
      "f.2",
    ]);
  });

  test.each<[string, Answers, object]>([
    [
      "robots.txt disallows it",
      { check: { kind: "disallowed", reason: "rules", detail: "line 3" } },
      { error: "robots_disallowed", step: "robots", reason: "rules", detail: "line 3" },
    ],
    [
      "robots.txt is on a blocked destination",
      { check: { kind: "blocked", error: "blocked_destination" } },
      { error: "blocked_destination", step: "egress" },
    ],
    [
      "robots.txt cannot be read for want of a slot",
      { check: { kind: "refused", error: "domain_busy", retry_after_s: 7 } },
      { error: "domain_busy", step: "politeness", retry_after_s: 7 },
    ],
    [
      "the domain grants no slot",
      { acquire: { kind: "refused", error: "politeness_timeout", retry_after_s: 2 } },
      { error: "politeness_timeout", step: "politeness", retry_after_s: 2 },
    ],
  ])("is refused when %s", async (_, answers, refusal) => {
    expect(await oneRun(answers).ask()).toMatchObject({ kind: "refused", refusal });
  });

  test("to a reserved host is delegated, without a question to robots.txt or domain", async () => {
    const { ask, run, operations } = oneRun();
    expect(await ask("http://reserved.example/")).toMatchObject({ refusal: { error: DELEGATED } });
    expect([run.delegated_url, operations()]).toEqual(["http://reserved.example/", []]);
  });
});

describe("a request to an origin of which this process has a fresh copy of robots.txt", () => {
  const COPIED = "example.org http://www.example.org";
  /** Which forbids /private, under the epoch of the run. */
  function copiesOf(epoch = 3): RobotsCopies {
    const copies = robotsCopies();
    const rules = {
      group: "*",
      rules: [{ allow: false, pattern: "/private", line: 2 }],
      crawl_delay_ms: null,
    };
    const copy = { crawler_name: "trawl", read_at_ms: 0, status: 200, rules };
    for (const key of [COPIED, "other.example http://other.example"]) copies.onAnswered(key, epoch, copy);
    return copies;
  }

  test("asks for a slot only", async () => {
    const { ask, operations } = oneRun({}, undefined, { copies: copiesOf() });
    expect(await ask()).toMatchObject({ kind: "admitted" });
    expect(operations()).toEqual(["acquire"]);
  });

  test("that the copy forbids asks for nothing", async () => {
    const { ask, operations } = oneRun({}, undefined, { copies: copiesOf() });
    expect(await ask("http://www.example.org/private")).toMatchObject({
      refusal: { error: "robots_disallowed", step: "robots", reason: "rules" },
    });
    expect(operations()).toEqual([]);
  });

  test.each<[string, Parameters<typeof oneRun>[2], string]>([
    [
      "of another site, whose copy may be newer on its own node",
      { copies: copiesOf() },
      "http://other.example/",
    ],
    ["of another origin", { copies: copiesOf() }, "http://www.example.org:8080/"],
    [
      "for an archive, which has the exchanges of robots.txt",
      { copies: copiesOf(), archive: true },
      URL_ASKED,
    ],
    ["for a trace, which has the messages", { copies: copiesOf(), is_traced: true }, URL_ASKED],
    ["when the site was another node's since then", { copies: copiesOf(2) }, URL_ASKED],
  ])("asks the Robots actor %s", async (_, more, url) => {
    const { ask, operations } = oneRun({}, undefined, more);
    expect(await ask(url)).toMatchObject({ kind: "admitted" });
    expect(operations()).toEqual(["check", "acquire"]);
  });

  test("asks the Robots actor when the copy is a day old, and when the site may be another node's", async () => {
    const { ask, operations, clock } = oneRun({}, undefined, { copies: copiesOf() });
    await clock.advance(86_400_000);
    await ask();
    expect(operations().slice(0, 1)).toEqual(["check"]);
    const other = oneRun({}, undefined, { copies: copiesOf() });
    other.lose();
    await expect(other.ask()).rejects.toMatchObject({ code: "lease_lost" });
    expect(other.operations().slice(0, 1)).toEqual(["check"]);
  });
});

describe("on a node with much to do, a request", () => {
  /** Answers of `whenOpen`, in their order. */
  function backlogOf(answers: boolean[], expected_ms = 0) {
    let under_way = 0;
    const backlog: PageBacklog = {
      expectedWait: () => expected_ms,
      whenOpen: async () => answers.shift() ?? true,
      tryLeave: () => (under_way++, () => under_way--),
      arrived: () => () => {},
    };
    return { backlog, underWay: () => under_way };
  }

  test("asks neither robots.txt nor its domain, and ends with domain_busy", async () => {
    const { ask, operations } = oneRun({}, backlogOf([false]).backlog);
    expect(await ask()).toMatchObject({ refusal: { error: "domain_busy", reason: "no_room" } });
    expect(operations()).toEqual([]);
  });

  test("is refused at once, with the wait, when that is known to be longer than it may take", async () => {
    const { backlog } = backlogOf([], 15_001);
    const whenOpen = (): never => expect.unreachable("nothing is waited for");
    const { ask, operations } = oneRun({}, { ...backlog, whenOpen });
    expect(await ask()).toMatchObject({
      refusal: { error: "domain_busy", reason: "no_room", retry_after_s: 16 },
    });
    expect(operations()).toEqual([]);
  });

  test("keeps its slot for a while, then gives it back and asks for another under an id of its own", async () => {
    const { ask, operations, sent } = oneRun({}, backlogOf([true, false]).backlog);
    expect(await ask()).toMatchObject({ kind: "admitted" });
    expect(operations()).toEqual(["check", "acquire", "release", "check", "acquire"]);
    const slots = sent.filter(({ operation }) => operation === "acquire");
    expect(slots.map(({ message }) => (message as { fetch_id: string }).fetch_id)).toEqual(["f.1", "f.2"]);
  });

  test("is under way until its slot is released", async () => {
    const { backlog, underWay } = backlogOf([]);
    const admission = (await oneRun({}, backlog).ask()) as Granted;
    expect(underWay()).toBe(1);
    admission.release({ status: 200, retry_after_s: null });
    expect(underWay()).toBe(0);
  });
});

describe("a slot whose grant was asked for in vain", () => {
  test("is released all the same, in the name of this run: the domain may have granted it", async () => {
    const fault = new Fault("no_answer", "The domain's store is away");
    const { ask, sent } = oneRun({ acquire: fault });
    await expect(ask()).rejects.toBe(fault);
    expect(sent.map(({ operation }) => operation)).toEqual(["check", "acquire", "release"]);
    const [asked, released] = sent.slice(1).map(({ key, message }) => [key, message as object] as const);
    expect(released).toEqual([
      asked![0],
      {
        ...only(asked![1], "fetch_id", "run_id", "origin"),
        status: null,
        retry_after_s: null,
      },
    ]);
  });
});

describe("a granted slot", () => {
  test("is released when the run has ended meanwhile", async () => {
    const { ask, stop, operations } = oneRun();
    stop.abort();
    expect(await ask()).toMatchObject({ refusal: { error: "timeout" } });
    expect(operations().at(-1)).toBe("release");
  });

  test("is released when another node may own the key, and nothing is sent", async () => {
    const { ask, lose, operations } = oneRun();
    lose();
    await expect(ask()).rejects.toMatchObject({ code: "lease_lost" });
    expect(operations().at(-1)).toBe("release");
  });

  test("is void after its time", async () => {
    const { ask, clock } = oneRun();
    const early = (await ask()) as Granted;
    const late = (await ask()) as Granted;
    expect(early.beforeSend()).toBe(true);
    await clock.advance(GRANT_TTL_MS);
    expect(late.beforeSend()).toBe(false);
  });

  test("sends nothing once the key is lost, and the run knows", async () => {
    const { ask, lose, run } = oneRun();
    const admission = (await ask()) as Granted;
    lose();
    expect([admission.beforeSend(), run.isLost]).toEqual([false, true]);
  });

  test("of a request that broke off while it was sent counts as sent", async () => {
    const { ask, operations } = oneRun();
    const admission = (await ask()) as Granted;
    await admission.beforeSend();
    admission.release({ status: null, retry_after_s: null });
    expect(operations().slice(2)).toEqual(["recordSent", "release"]);
  });

  test("of a request that was never sent does not count as sent", async () => {
    const { ask, operations } = oneRun();
    const admission = (await ask()) as Granted;
    admission.release({ status: null, retry_after_s: null });
    expect(operations().slice(2)).toEqual(["release"]);
  });
});
