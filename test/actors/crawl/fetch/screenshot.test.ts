/** Screenshots and waits through the pipeline: which route, which page of the cache, which callers share a run. */
import { expect, test } from "vitest";
import type { TransportResult } from "../../../../actors/lib/web/transport.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const BYTES = Buffer.from("a picture");
const PICTURE = {
  content_type: "image/png",
  width: 1280,
  height: 720,
  truncated: false,
  bytes: BYTES,
} as const;
const WINDOW = { type: "png", full_page: false } as const;
const rendered = (more: Partial<Extract<TransportResult, { kind: "page" }>> = {}): TransportResult =>
  ({ ...answer(HTML), body_kind: "rendered_dom", ...more }) as TransportResult;

test("a screenshot is of the route browser, stored as a body, and cached apart from the page without one", async () => {
  const asked = { direct: 0, browser: 0 };
  const service = await oneService({
    direct: () => (asked.direct++, answer(HTML)),
    browser: ({ screenshot }) => (asked.browser++, rendered(screenshot && { screenshot: PICTURE })),
  });
  const plain = await running(service.clock, service.get());
  expect([plain.record.tier, plain.record.screenshot]).toEqual(["direct", undefined]);
  const pictured = await running(service.clock, service.get({ screenshot: WINDOW }));
  const { bytes: _, ...described } = PICTURE;
  expect(pictured).toMatchObject({ error: null, cached: false, record: { tier: "browser" } });
  expect(pictured.record.screenshot).toMatchObject(described);
  const pieces = await service.bodies.get(pictured.record.screenshot!.sha256);
  expect(Buffer.concat(await Array.fromAsync(pieces!))).toEqual(BYTES);

  const again = await running(service.clock, service.get({ screenshot: WINDOW }));
  expect([again.cached, again.record.screenshot]).toEqual([true, pictured.record.screenshot]);
  expect(asked).toEqual({ direct: 1, browser: 1 });
  await running(service.clock, service.get({ screenshot: { ...WINDOW, full_page: true } }));
  expect((await running(service.clock, service.get())).record.tier).toBe("direct");
  expect(asked).toEqual({ direct: 1, browser: 2 });
});

test("callers that wait for different things do not share a run, nor a cached page", async () => {
  const waits: unknown[] = [];
  const browser = ({ wait_for }: { wait_for?: unknown }) => (waits.push(wait_for ?? null), rendered());
  const service = await oneService({ browser });
  const wait = (selector: string | null, ms = 0) => service.get({ wait_for: { selector, ms } });
  const once = () => Promise.all([wait(".price"), wait(".stock"), wait(".price", 900), wait(".price")]);
  await running(service.clock, once());
  expect(waits.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
    { selector: ".price", ms: 0 },
    { selector: ".price", ms: 900 },
    { selector: ".stock", ms: 0 },
  ]);
  const cached = await running(service.clock, once());
  expect([cached.map((each) => each.cached), waits.length]).toEqual([[true, true, true, true], 3]);
});

test.each([
  ["selector_not_found", 'No element of the page matches ".price": 15 s after it was parsed'],
  ["screenshot_failed", "It has 31.0 MiB, and 20.0 are the most; webp is smaller"],
] as const)(
  "a page that falls short is %s beside the page, not cached, and no failure of its site",
  async (error, detail) => {
    const service = await oneService({ browser: () => rendered({ shortfall: { error, detail } }) });
    const request = { wait_for: { selector: ".price", ms: 0 }, screenshot: WINDOW };
    for (let fetch = 0; fetch < 4; fetch++) {
      const failed = await running(service.clock, service.get(request));
      expect(failed).toMatchObject({ error, error_detail: detail, cached: false });
      expect(failed.record.text).toContain("The boats come in at dawn");
    }
  },
);

test("a wait that the time of the request cuts short asks the site once", async () => {
  let asked = 0;
  const shortfall = { error: "timeout", detail: "The time of the request was over" } as const;
  const service = await oneService({ browser: () => (asked++, rendered({ shortfall })) });
  const hasty = { deadline_ms: service.clock.now() + 5_000, hard_deadline: true };
  const wait_for = { selector: ".price", ms: 0 };
  const answered = await running(service.clock, service.get({ wait_for, ...hasty }));
  expect([answered.error, answered.record.title, asked]).toEqual(["timeout", "Harbour", 1]);
});

test("where the browser is left out there is no route, and the answer says why", async () => {
  const service = await oneService({ direct: () => answer(HTML) });
  const refused = await running(service.clock, service.get({ screenshot: WINDOW, render: "never" }));
  expect([refused.error, refused.error_detail]).toEqual([
    "no_tier_allowed",
    expect.stringContaining("a screenshot take the route browser only"),
  ]);
});
