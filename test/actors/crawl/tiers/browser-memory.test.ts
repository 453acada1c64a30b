/** Which pages end for the memory of their browsers. */
import { describe, expect, test } from "vitest";
import {
  type BrowserProcess,
  findWriter,
  suspectedWriters,
  tooLarge,
  writerByTraffic,
} from "../../../../actors/crawl/tiers/adapters/browser-memory.ts";

const page = (pid: number, mb: number, cpu = 0): BrowserProcess => ({ pid, type: "renderer", mb, cpu });
const shared = (mb: number): BrowserProcess => ({ pid: 1, type: "browser", mb, cpu: 10_000 });
const limits = { page_mb: 1_000, total_mb: 2_000 };

describe("pages that end for their own memory", () => {
  test.each<[string, BrowserProcess[][], number[]]>([
    ["none within the limits", [[shared(300), page(2, 900), page(3, 100)]], []],
    [
      "each above the limit of a page",
      [[shared(100), page(2, 1_001), page(3, 100)], [page(4, 1_001)]],
      [2, 4],
    ],
    [
      "the largest of all browsers above the limit of all",
      [
        [shared(300), page(2, 600)],
        [page(3, 900), page(4, 500)],
      ],
      [3],
    ],
    ["as many as are needed", [[shared(1_500), page(2, 400), page(3, 300), page(4, 200)]], [2]],
    ["no process but a page's", [[shared(5_000)]], []],
  ])("%s", (_, browsers, ended) => {
    expect(
      tooLarge(
        browsers.map((processes) => ({ processes })),
        limits,
      ),
    ).toEqual(ended);
  });
});

describe("the page that fills what pages share", () => {
  const before = new Map([
    [2, 90],
    [3, 10],
  ]);
  test.each<[string, BrowserProcess[], number[]]>([
    ["is none while there is room", [shared(500), page(2, 10, 900)], []],
    ["is looked for where most was done first", [shared(501), page(2, 10, 100), page(3, 10, 60)], [3, 2]],
    ["may be new", [shared(501), page(2, 10, 100), page(5, 10, 60)], [5, 2]],
    ["is none without a page", [shared(501)], []],
  ])("%s", (_, processes, pids) => {
    expect(suspectedWriters({ processes, cpu_before: before, shared_mb: 500 })).toEqual(pids);
  });

  /** Pages that add so many MB to the shared memory in each 100 ms that they run, and in the pauses after they were stopped. */
  async function search(mb_per_100_ms: Record<number, number>, lag_mb: readonly number[] = []) {
    const pids = Object.keys(mb_per_100_ms).map(Number);
    const running = new Set(pids);
    const late = [...lag_mb];
    let [mb, ms] = [600, 0];
    const writer = await findWriter(pids, {
      stop: (pid) => void running.delete(pid),
      run: (pid) => void running.add(pid),
      shared_mb: () => mb,
      async pause(paused_ms) {
        ms += paused_ms;
        for (const pid of running) mb += (mb_per_100_ms[pid]! * paused_ms) / 100;
        mb += late.shift() ?? 0;
      },
    });
    return { writer, ms, mb, running: pids.filter((pid) => running.has(pid)), all: pids };
  }

  test("is the one under which it grows, though another works more", async () => {
    const { writer, running, all } = await search({ 2: 0, 3: 1, 4: 30 });
    expect(writer).toBe(4);
    expect(running).toEqual(all);
  });

  test("is none when it grows while all are stopped, or grew once", async () => {
    const without_end = Array.from({ length: 100 }, () => 5);
    expect((await search({ 2: 0, 3: 1 }, without_end)).writer).toBeNull();
    expect((await search({ 2: 0, 3: 0 }, [0, 20])).writer).toBeNull();
  });

  const traffic = (unanswered: number, unsent_mb = 0, received_mb = 0) => ({
    unanswered,
    unsent_bytes: unsent_mb * 2 ** 20,
    received_bytes: received_mb * 2 ** 20,
  });
  test.each([
    ["the page with thousands of requests", [traffic(3), traffic(5_000), traffic(20)], 300, 1],
    ["the page with large bodies to send", [traffic(3, 200), traffic(20, 5)], 300, 0],
    ["none whose requests do not explain the growth", [traffic(3, 100), traffic(20, 5)], 300, null],
    ["none of two alike", [traffic(3, 200), traffic(20, 150)], 300, null],
    ["none, without a page", [], 300, null],
  ])("is by its requests %s", (_, pages, grown_mb, index) => {
    expect(writerByTraffic(pages, grown_mb)).toBe(index);
  });

  test("is not blamed for what another has sent before", async () => {
    expect((await search({ 2: 0, 3: 30 }, [40, 30, 20])).writer).toBe(3);
  });

  test("is found when it is slow, and none is when none fills it any more", async () => {
    expect((await search({ 2: 0, 3: 6 })).writer).toBe(3);
    const { writer, running, all } = await search({ 2: 0, 3: 1 });
    expect([writer, running]).toEqual([null, all]);
  });

  test("is looked for no longer than a few seconds, and memory stays as it is meanwhile", async () => {
    const idle = Object.fromEntries(Array.from({ length: 64 }, (_, pid) => [pid + 2, 0]));
    const { writer, ms, mb } = await search(idle);
    expect([writer, mb, ms < 5_000]).toEqual([null, 600, true]);
  });
});
