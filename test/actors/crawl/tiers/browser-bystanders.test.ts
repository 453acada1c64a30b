/** A page that fills or ends its browser: it ends by name, and each honest page beside it is whole. */
import { describe, expect, test } from "vitest";
import { describeBrowser, sharedProcessesMb } from "../../../harness/browser-harness.ts";
import { admission } from "../../../harness/transport-request.ts";
import { gate, type Pages } from "../../../harness/web.ts";

const scripted = (script: string): string =>
  `<!doctype html><title>t</title><p id=a>text</p><script>${script}</script>`;
/** The network of these pages is quiet soon: none of them has anything left to do then. */
const QUIET_MS = 150;

describeBrowser("a browser", (openSetup) => {
  test("that a page ends each time is not shared by those that are tried once more", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS, settle_ms: 20_000 } });
    const held = gate();
    const isNeighbourBack = gate();
    const site = it.web.site({
      "/neighbour": { body: scripted("fetch('/held').then(() => (document.title = 'whole'))") },
      "/hostile": { body: scripted("fetch('/never')") },
      "/held": () => held.opened.then(() => ({})),
      "/never": () => held.opened.then(() => ({})),
    });
    const neighbour = it.fetch(`${site.origin}/neighbour`);
    await site.reached("/held");
    let tries = 0;
    const hostile = it.fetch(`${site.origin}/hostile`, {
      async admit() {
        if (++tries > 1) await isNeighbourBack.opened;
        return admission();
      },
    });
    await site.reached("/never");
    process.kill(it.pool.stats().browsers[0]!, "SIGKILL");
    await site.reached("/held", 2);
    const [neighbours] = it.pool.stats().browsers;
    isNeighbourBack.open();
    await site.reached("/never", 2);
    const own = it.pool.stats().browsers.find((browser) => browser !== neighbours);
    process.kill(own ?? neighbours!, "SIGKILL");
    expect(await hostile).toMatchObject({ kind: "failed", reason: "browser_crashed" });
    held.open();
    const answer = await neighbour;
    expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
    await expect.poll(() => it.pool.stats().browsers, { timeout: 10_000 }).toEqual([]);
    await it.close();
  });

  test("that ends while a page opens is not the page's doing: both pages are tried once more", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS, settle_ms: 20_000 } });
    const held = gate();
    const site = it.web.site({
      "/neighbour": { body: scripted("fetch('/held').then(() => (document.title = 'whole'))") },
      "/late": { body: scripted("document.title = 'whole'") },
      "/held": () => held.opened.then(() => ({})),
    });
    const neighbour = it.fetch(`${site.origin}/neighbour`);
    await site.reached("/held");
    const [browser] = it.pool.stats().browsers;
    let tries = 0;
    const late = it.fetch(`${site.origin}/late`, {
      async admit() {
        if (++tries === 1) setImmediate(() => process.kill(browser!, "SIGKILL"));
        return admission();
      },
    });
    await site.reached("/held", 2);
    held.open();
    for (const answer of await Promise.all([neighbour, late])) {
      expect(answer).toMatchObject({ kind: "page" });
      expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
    }
    await it.close();
  });

  describe("a page that fills what pages share", () => {
    /** Works as much as it may, and is whole when its request is answered. */
    const busy = scripted(
      "const work = () => { const until = Date.now() + 40; while (Date.now() < until); setTimeout(work, 5); }; work(); fetch('/held').then(() => (document.title = 'whole'))",
    );
    const idle = scripted("fetch('/held').then(() => (document.title = 'whole'))");
    /** Memory of the shared processes with these pages in them. */
    async function sharedWith(paths: Pages): Promise<number> {
      const it = await openSetup({ page: { settle_ms: 20_000 } });
      const held = gate();
      const site = it.web.site({ ...paths, "/held": () => held.opened.then(() => ({})) });
      const visits = Object.keys(paths).map((path) => it.fetch(site.origin + path));
      await site.reached("/held", visits.length);
      const mb = sharedProcessesMb(it.pool.stats().browsers[0]!);
      held.open();
      await Promise.all(visits);
      await it.close();
      return mb;
    }
    const MB = "new Uint8Array(2 ** 20).fill(1)";
    /** So many MB in bodies of requests that are not answered, and then nothing any more. */
    const uploads = (mb: number) =>
      `const body = ${MB}; for (let n = 0; n < ${mb}; n++) fetch('/never', { method: 'POST', body }).catch(() => {})`;
    const blobs = (mb: number) =>
      `const body = ${MB}; window.kept = []; for (let n = 0; n < ${mb}; n++) kept.push(new Blob([body, String(n)]))`;

    test.each([
      ["by requests, and is idle when it is too much", uploads(160), uploads(12)],
      ["by blobs, and is idle when it is too much", blobs(240), blobs(12)],
      [
        "while others work more",
        `setInterval(() => { ${blobs(4)}; (window.all ??= []).push(kept) }, 40)`,
        "",
      ],
    ])(
      "%s, ends; each page beside it is whole",
      async (_, hostile, honest) => {
        const shared_mb = (await sharedWith({ "/a": { body: busy }, "/b": { body: idle } })) + 130;
        const it = await openSetup({ page: { settle_ms: 20_000 }, pool: { shared_mb, pages: 8 } });
        const held = gate();
        const [site, hostile_site] = [
          it.web.site({
            "/busy": { body: busy },
            "/idle": { body: idle },
            "/upload": { body: scripted(`${honest}; fetch('/held').then(() => (document.title = 'whole'))`) },
            "/held": () => held.opened.then(() => ({})),
            "/never": () => held.opened.then(() => ({})),
          }),
          it.web.site({
            "/": { body: scripted(`fetch('/here'); ${hostile}; fetch('/held')`) },
            "/held": () => held.opened.then(() => ({})),
            "/never": () => held.opened.then(() => ({})),
            "*": {},
          }),
        ];
        const neighbours = ["/busy", "/busy", "/idle"].map((path) => it.fetch(site.origin + path));
        await site.reached("/held", 3);
        const ended = it.fetch(`${hostile_site.origin}/`);
        await hostile_site.reached("/here");
        const uploading = it.fetch(`${site.origin}/upload`);
        expect(await ended).toMatchObject({ kind: "failed", reason: "out_of_memory" });
        held.open();
        for (const answer of await Promise.all([...neighbours, uploading])) {
          expect(answer).toMatchObject({ kind: "page" });
          expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
        }
        await it.close();
      },
      120_000,
    );
  });
});
