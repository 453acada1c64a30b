/** Which pages end for the memory of their browsers. */
import { describe, expect, test } from "vitest";
import { type BrowserProcess, heaviestWriter, tooLarge } from "../../actors/tiers/adapters/browser-memory.ts";

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
  test.each<[string, BrowserProcess[], number | null]>([
    ["is none while there is room", [shared(500), page(2, 10, 900)], null],
    ["has worked most since the last look", [shared(501), page(2, 10, 100), page(3, 10, 60)], 3],
    ["may be new", [shared(501), page(2, 10, 100), page(5, 10, 60)], 5],
    ["is none without a page", [shared(501)], null],
  ])("%s", (_, processes, pid) => {
    expect(heaviestWriter({ processes, cpu_before: before, shared_mb: 500 })).toBe(pid);
  });
});
