/** Nodes report, gateways judge and record, on a virtual clock: with stores, the board and workers that go away and come back. */
import { describe, expect, test } from "vitest";
import { RollingWindow } from "../../../../actors/lib/rolling-window.ts";
import { statusBoardActor } from "../../../../actors/business/status/board.actor.ts";
import { API, ARCHIVE, BROWSER, FETCH, STORAGE } from "../../../../actors/business/status/components.ts";
import { NO_NOTICES } from "../../../../actors/business/status/evaluate.ts";
import { windowFigures } from "../../../../actors/business/status/figures.ts";
import { statusHistorianActor } from "../../../../actors/business/status/historian.actor.ts";
import { type StatusWatchDeps, watchStatus } from "../../../../actors/business/status/watch-status.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Fault } from "../../../../cluster/ports/fault.ts";
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { Figures } from "../../../../schemas/status.ts";

const PERIOD_MS = 15_000;
const NOON_MS = Date.parse("2026-11-23T12:00:00Z");
const SPECS = [API, FETCH, BROWSER, ARCHIVE, STORAGE];

/** A cluster of nodes that share one board. */
function world() {
  const clock = virtualClock(NOON_MS);
  const documents = memoryDocuments();
  const { log, metrics } = silentTelemetry();
  const cluster = embedded([statusBoardActor(PERIOD_MS), statusHistorianActor()], {
    clock,
    documents,
    random: seededRandom(1),
  });
  const stores: Record<string, boolean> = { documents: true, bus: true, object_storage: true };
  let fault: Fault | null = null;
  const ask: ActorClient = (...asked) => (fault ? Promise.reject(fault) : cluster.ask(...asked));
  const node = (name: string, figures: () => Figures, rest: Partial<StatusWatchDeps> = {}) => {
    const watch = watchStatus({
      clock,
      log,
      metrics,
      ask,
      period_ms: PERIOD_MS,
      node: name,
      specs: SPECS,
      isWorker: true,
      isGateway: true,
      figures,
      clusterFigures: async () => ({}),
      checkStores: async () => stores,
      readNotices: async () => NO_NOTICES,
      ...rest,
    });
    watch.start();
    const status = (id: string): string => {
      const component = watch.current().components.find((each) => each.id === id);
      return component ? [component.status, ...component.reasons].join(" ") : "absent";
    };
    return { ...watch, status };
  };
  const rounds = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) await clock.advance(PERIOD_MS);
  };
  return { clock, node, stores, rounds, breakBus: (next: Fault | null) => void (fault = next) };
}

const fetches = (successes: number, requests: number): Figures => ({
  "fetch.successes": { sum: successes },
  "fetch.requests": { sum: requests },
});

test("figures of all nodes count together, and for as long as they are fresh", async () => {
  const { node, rounds } = world();
  const gateway = node("g", () => fetches(10, 10), { isWorker: false });
  const worker = node("w", () => ({ ...fetches(0, 12), "archive.workers": { sum: 1 } }), {
    isGateway: false,
  });
  await rounds(4);
  expect(gateway.status("fetch")).toBe("partial_outage low_success_rate");
  expect(gateway.current().components.find(({ id }) => id === "fetch")!.metrics).toMatchObject({
    requests: 22,
    workers_alive: 1,
  });
  worker.close();
  await rounds(5);
  // 10 requests remain, too few to tell; no worker is known.
  expect(gateway.status("fetch")).toBe("major_outage no_workers");
  expect(gateway.current().components.find(({ id }) => id === "fetch")!.metrics).toMatchObject({
    requests: 10,
  });
});

describe("a component", () => {
  test("that no node has is not listed, and one whose nodes went away is listed for a day", async () => {
    const { node, rounds, clock } = world();
    const gateway = node("g", () => fetches(0, 0));
    const browser = node("b", () => ({ "browser.workers": { sum: 1 } }), { isGateway: false });
    await rounds(4);
    expect([gateway.status("browser_rendering"), gateway.status("archive")]).toEqual([
      "operational",
      "absent",
    ]);
    browser.close();
    await rounds(5);
    expect(gateway.status("browser_rendering")).toBe("major_outage no_workers");
    await clock.advance(24 * 3_600_000);
    expect(gateway.status("browser_rendering")).toBe("absent");
  });

  test("recovers when its failures are 600 s old", async () => {
    const { node, rounds, clock } = world();
    const window = new RollingWindow<"requests" | "successes">(["requests", "successes"]);
    const gateway = node("g", () => windowFigures("fetch", window, clock.now()));
    window.add("requests", clock.now(), 50);
    await rounds(3);
    expect(gateway.status("fetch")).toBe("major_outage low_success_rate");
    await rounds(40);
    expect(gateway.status("fetch")).toBe("operational");
  });
});

describe("while something is away", () => {
  test("a store that does not answer twice is unreachable, and the history has it afterwards", async () => {
    const { node, rounds, stores } = world();
    const gateway = node("g", () => fetches(0, 0));
    await rounds(3);
    stores["documents"] = false;
    await rounds(1);
    expect(gateway.status("api")).toBe("operational");
    await rounds(1);
    expect([gateway.status("api"), gateway.status("storage"), gateway.current().status]).toEqual([
      "major_outage database_unreachable",
      "major_outage database_unreachable",
      "major_outage",
    ]);
    Object.assign(stores, { documents: true, bus: false });
    await rounds(2);
    expect(gateway.status("api")).toBe("major_outage cache_unreachable");
    Object.assign(stores, { bus: true, object_storage: false });
    await rounds(2);
    expect([gateway.status("api"), gateway.status("storage")]).toEqual([
      "operational",
      "degraded object_storage_unreachable",
    ]);
    stores["object_storage"] = true;
    await rounds(25);
    expect(gateway.status("storage")).toBe("operational");
    const { components } = await gateway.history(1);
    expect(components["api"]!.statuses).toContain("major_outage");
    expect(components["api"]!.statuses.at(-1)).toBe("operational");
  });

  test("every worker: the gateway says so, and records it when one is back", async () => {
    const { node, rounds, breakBus } = world();
    const gateway = node("g", () => fetches(0, 0));
    await rounds(3);
    breakBus(new Fault("no_workers", "Cannot reach a worker"));
    await rounds(1);
    expect(gateway.status("fetch")).toBe("major_outage no_workers");
    expect((await gateway.history(1)).components["fetch"]!.statuses.at(-1)).toBe("major_outage");
    breakBus(null);
    await rounds(1);
    expect(gateway.status("fetch")).toBe("operational");
    const other = node("g2", () => fetches(0, 0));
    await rounds(2);
    expect((await other.history(1)).components["fetch"]!.statuses).toContain("major_outage");
  });

  test("the board: its last figures count for 60 s, then only those of the node itself", async () => {
    const { node, rounds, breakBus } = world();
    const gateway = node("g", () => fetches(10, 10), { isWorker: false });
    node("w", () => fetches(30, 30), { isGateway: false });
    await rounds(4);
    breakBus(new Fault("bus_unreachable", "Cannot reach nats://10.0.0.9:4222"));
    const requests = (): number | undefined =>
      gateway.current().components.find(({ id }) => id === "fetch")!.metrics["requests"];
    await rounds(1);
    expect(requests()).toBe(40);
    await rounds(5);
    expect(requests()).toBe(10);
    expect(gateway.status("fetch")).toBe("operational");
  });

  test("a gateway that starts before any worker records no outage for a minute", async () => {
    const { node, rounds, breakBus } = world();
    breakBus(new Fault("no_workers", "Cannot reach a worker"));
    const gateway = node("g", () => fetches(0, 0), { isWorker: false });
    await rounds(3);
    const known = async (): Promise<boolean> =>
      (await gateway.history(1)).components["fetch"]!.statuses.some((status) => status !== null);
    expect(await known()).toBe(false);
    await rounds(3);
    expect(await known()).toBe(true);
  });
});
