/** Screenshots and `wait_for` in a real browser: what is loaded for a picture, its limits, and what is waited for. */
import { mkdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TransportRequest, TransportResult } from "../../../../actors/lib/web/transport.ts";
import { canary } from "../../../harness/canary.ts";
import { noisePng } from "../../../harness/noise-png.ts";
import { type BrowserSetup, describeBrowser, describeOneBrowser } from "../../../harness/browser-harness.ts";

type PageResult = Extract<TransportResult, { kind: "page" }>;
type Picture = NonNullable<PageResult["screenshot"]>;

const page = (answer: TransportResult): PageResult => {
  if (answer.kind !== "page") throw new Error(JSON.stringify(answer));
  return answer;
};
const WINDOW = { type: "png", full_page: false } as const;
const FULL = { type: "png", full_page: true } as const;
const svg = (color: string) => ({
  type: "image/svg+xml",
  body: `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="100"><rect width="100" height="100" fill="${color}"/></svg>`,
});
const [RED, GREEN, BLUE] = ["255,0,0", "0,128,0", "0,0,255"];

/** For looking at: SCREENSHOTS=<folder>. */
function show({ bytes, content_type }: Picture, name: string): void {
  const folder = process.env["SCREENSHOTS"];
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${name}.${content_type.slice(6)}`, bytes);
}

/** The colours of a picture at these points, as a browser sees them: a WebP has no exact ones. */
async function coloursOf(it: BrowserSetup, { bytes, content_type }: Picture, points: [number, number][]) {
  const look = `const image = new Image(); image.src = "/picture";
    image.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const at = ([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3).join();
      seen.textContent = ${JSON.stringify(points)}.map(at).join(" ");
      seen.className = "done";
    }`;
  const site = it.web.site({
    "/": { body: `<p id=seen></p><script>${look}</script>` },
    "/picture": { type: content_type, body: bytes },
  });
  // Images load for a screenshot only.
  const wait_for = { selector: ".done", ms: 0 };
  const patient = it.withLimits({ wait_for_ms: 15_000 });
  const { body, shortfall } = page(await patient.fetch(`${site.origin}/`, { screenshot: WINDOW, wait_for }));
  if (shortfall) throw new Error(shortfall.detail);
  const colours = /class="done">([^<]*)</.exec(body.toString())![1]!.split(" ");
  return colours.map((colour) => nearest(colour));
}

function nearest(colour: string): string {
  const parts = colour.split(",").map(Number);
  const isNear = (other: string) =>
    other.split(",").every((part, at) => Math.abs(Number(part) - parts[at]!) < 12);
  return [RED!, GREEN!, BLUE!].find(isNear) ?? colour;
}

describeBrowser("a screenshot", (openSetup, title) => {
  let it: BrowserSetup;
  beforeAll(async () => (it = await openSetup({ page: { wait_for_ms: 1_500 } })));
  afterAll(() => it.close());
  const fetch = async (url: string, over: Partial<TransportRequest>) => page(await it.fetch(url, over));
  const name = (what: string) => `${what}-${title.replaceAll(/\W+/g, "-")}`;

  test("of the window shows images, frames of other sites and fonts, and the page is there beside it", async () => {
    const other = it.web.site({ "/": { body: "<body style='margin:0;background:rgb(0,0,255)'>" } });
    const site = it.web.site({
      "/": {
        body: `<style>@font-face{font-family:f;src:url(/f.woff2)} body{margin:0;font-family:f}</style>
          <title>Harbour</title><img src=/red.svg style="display:block"><video src=/v.mp4></video>
          <iframe src="${other.origin}/" style="position:absolute;top:200px;left:0;border:0"></iframe>
          <p style="position:absolute;top:500px">All there is.`,
      },
      "/red.svg": svg("rgb(255,0,0)"),
      "/f.woff2": { type: "font/woff2", body: "" },
    });
    const { screenshot, shortfall, body } = await fetch(`${site.origin}/`, { screenshot: WINDOW });
    show(screenshot!, name("window"));
    expect(shortfall).toBeUndefined();
    expect(screenshot).toMatchObject({
      content_type: "image/png",
      width: 1280,
      height: 720,
      truncated: false,
    });
    expect(body.toString()).toContain("<title>Harbour</title>");
    expect([site.hits("/red.svg"), site.hits("/f.woff2"), site.hits("/v.mp4")]).toEqual([1, 1, 0]);
    expect(
      await coloursOf(it, screenshot!, [
        [50, 50],
        [50, 250],
      ]),
    ).toEqual([RED, BLUE]);
  });

  test("of the full page goes to its end, with what loads when it is seen, as PNG and as WebP", async () => {
    const site = it.web.site({
      "/": {
        body: `<body style="margin:0"><img src=/red.svg style="display:block"><div style="height:9000px"></div>
          <img loading=lazy src=/green.svg width=100 height=100 style="display:block"><script></script>`,
      },
      "/red.svg": svg("rgb(255,0,0)"),
      "/green.svg": svg("rgb(0,128,0)"),
    });
    for (const type of ["png", "webp"] as const) {
      const { screenshot } = await fetch(`${site.origin}/`, { screenshot: { type, full_page: true } });
      show(screenshot!, name("full"));
      expect(screenshot).toMatchObject({
        content_type: `image/${type}`,
        width: 1280,
        height: 9_200,
        truncated: false,
      });
      expect(
        await coloursOf(it, screenshot!, [
          [50, 50],
          [50, 9_150],
        ]),
      ).toEqual([RED, GREEN]);
    }
  });

  test("lets a page reach nothing inside", async () => {
    const inside = await canary();
    const at = `http://127.0.0.2:${inside.port}/i.png`;
    const site = it.web.site({
      "/": {
        body: `<img src="${at}"><img src=/moved><div style="background:url(${at}?b);height:9px"></div>`,
      },
      "/moved": { status: 302, headers: { Location: at } },
    });
    const { screenshot } = await fetch(`${site.origin}/`, { screenshot: FULL });
    expect(screenshot).toBeDefined();
    expect(inside.received).toEqual([]);
    await inside.close();
  });

  test("waits for the selector, and shows what came with it", async () => {
    const changedAfter = (ms: number) => ({
      body: `<p>${"early ".repeat(200)}<script>setTimeout(() => { document.body.innerHTML =
        '<div class=late style="position:fixed;inset:0;background:rgb(255,0,0)">late</div>' }, ${ms})</script>`,
    });
    const site = it.web.site({ "/": changedAfter(900), "/much-later": changedAfter(15_000) });
    const wait_for = { selector: "div.late", ms: 0 };
    const { screenshot, body } = await fetch(`${site.origin}/`, { screenshot: WINDOW, wait_for });
    expect(body.toString()).toContain(">late</div>");
    expect(await coloursOf(it, screenshot!, [[600, 300]])).toEqual([RED]);
    const early = await fetch(`${site.origin}/much-later`, {});
    expect(early.body.toString()).toContain("<p>early early");
  });
});

describeOneBrowser("limits of a screenshot, and what a page is waited for", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => (it = await openSetup({ page: { wait_for_ms: 1_500 } })));
  afterAll(() => it.close());
  const fetch = async (url: string, over: Partial<TransportRequest>) => page(await it.fetch(url, over));

  test("a time begins when the document is parsed", async () => {
    const script = "setTimeout(() => { document.title = 'after' }, 1_200)";
    const site = it.web.site({ "/": { body: `<title>before</title><p>text<script>${script}</script>` } });
    const wait_for = { selector: null, ms: 1_400 };
    expect((await fetch(`${site.origin}/`, { wait_for })).body.toString()).toContain("<title>after</title>");
  });

  test.each([
    [".never", "<p>text<script></script>", "selector_not_found", "1.5 s after it was parsed"],
    [".never", "<p>text", "selector_not_found", "no scripts"],
    [":nonsense", "<p>text<script></script>", "selector_not_found", "does not know"],
  ])("an element that never comes is named: %s of %s", async (selector, body, error, why) => {
    const site = it.web.site({ "/": { body } });
    const answer = await fetch(`${site.origin}/`, { wait_for: { selector, ms: 0 }, screenshot: WINDOW });
    expect(answer.shortfall).toEqual({ error, detail: expect.stringContaining(why) });
    expect(answer.body.toString()).toContain("text");
    expect(answer.screenshot).toBeDefined();
  });

  test("an element that does not come before the caller's deadline is timeout, with the page", async () => {
    const site = it.web.site({ "/": { body: "<p>text<script></script>" } });
    const patient = it.withLimits({ wait_for_ms: 15_000 });
    const wait_for = { selector: ".never", ms: 0 };
    const answer = page(
      await patient.fetch(`${site.origin}/`, { wait_for, deadline_ms: Date.now() + 5_000 }),
    );
    expect(answer.shortfall).toEqual({ error: "timeout", detail: expect.stringContaining('".never"') });
  });

  test("of a page of 100,000 pixels ends at 20,000, and says so; a WebP at 16,383", async () => {
    const body = "<body style='margin:0;background:rgb(0,0,255)'><div style='height:100000px'></div>";
    const site = it.web.site({ "/": { body } });
    const taken: Picture[] = [];
    for (const screenshot of [FULL, { ...FULL, type: "webp" } as const, WINDOW])
      taken.push((await fetch(`${site.origin}/`, { screenshot })).screenshot!);
    expect(taken.map(({ height, truncated }) => [height, truncated])).toEqual([
      [20_000, true],
      [16_383, true],
      [720, true],
    ]);
    expect(await coloursOf(it, taken[0]!, [[1_279, 19_999]])).toEqual([BLUE]);
  });

  test("no screenshot is taken of a file, nor kept of a page of noise", async () => {
    const site = it.web.site({
      "/file": { type: "application/pdf", body: "%PDF-1.7" },
      "/noise": { body: "<body style='margin:0;height:9000px;background:url(/noise.png)'>" },
      "/noise.png": { type: "image/png", body: noisePng(1_280, 720) },
    });
    const file = await fetch(`${site.origin}/file`, { screenshot: WINDOW });
    expect(file.shortfall).toMatchObject({ error: "screenshot_failed" });
    const large = await fetch(`${site.origin}/noise`, { screenshot: FULL });
    expect(large.shortfall).toEqual({
      error: "screenshot_failed",
      detail: expect.stringMatching(/^It has \d+\.\d MiB, and 20\.0 are the most; webp is smaller$/),
    });
    expect([large.screenshot, large.body.length > 0]).toEqual([undefined, true]);
  });
});
