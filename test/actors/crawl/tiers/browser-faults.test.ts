/** Faults of a page, a browser or an origin: the answer says it, the place comes back, the next page works. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chromium } from "../../../../actors/crawl/tiers/adapters/chromium.ts";
import { HOSTILE, hostileSite } from "../../../harness/hostile-site.ts";
import { article, gate, redirect, type Pages } from "../../../harness/web.ts";
import {
  browsers,
  type BrowserSetup,
  describeBrowser,
  describeOneBrowser,
  isAlive,
  living,
  memoryMb,
} from "../../../harness/browser-harness.ts";

const scripted = (script: string): string =>
  `<!doctype html><title>t</title><p id=a>text</p><script>${script}</script>`;
const GOOD = { body: article("Good") };
/** The network of these pages is quiet soon: none of them has anything left to do then. */
const QUIET_MS = 150;
/** For a page whose time-out is expected. Any other page gets the service's own limits, which a busy machine needs. */
const HASTY = { page_ms: 15_000, parse_ms: 500, settle_ms: 200, quiet_ms: 50, read_ms: 500 };

describeBrowser("a hostile page", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ page: { quiet_ms: QUIET_MS }, pool: { page_mb: 400 } });
  });
  afterAll(() => it.close());

  const visit = async (pages: Pages, { fetch } = it) => {
    const site = it.web.site({ "/good": GOOD, ...pages });
    const answer = await fetch(`${site.origin}/`);
    if (answer.kind === "failed")
      expect(await it.fetch(`${site.origin}/good`)).toMatchObject({ kind: "page", status: 200 });
    await expect.poll(() => it.pool.stats().leased, { timeout: 5_000 }).toBe(0);
    expect(it.visits.filter(({ released }) => released.length !== 1)).toEqual([]);
    return { site, answer };
  };

  test.each([
    ["a script without end", "for (;;);"],
    ["a script without end, later", "setTimeout(() => { for (;;); }, 10)"],
    ["an alert loop", "for (;;) alert(1)"],
    ["questions without end", "for (;;) { confirm('sure?'); prompt('why?'); }"],
  ])("with %s is a timeout, and its process ends", async (_, script) => {
    const { answer } = await visit({ "/": { body: scripted(script) } }, it.withLimits(HASTY));
    expect(answer).toMatchObject({ kind: "failed", reason: "timeout", status: 200 });
    const [browser] = it.pool.stats().browsers;
    await expect.poll(() => living(browser!, "renderer").length, { timeout: 5_000 }).toBeLessThanOrEqual(1);
  });

  test("that takes all memory is out_of_memory, and its neighbours stay", async () => {
    const roomy = it.withLimits({ settle_ms: 20_000 });
    const blocked = gate();
    const site = it.web.site({
      "/": {
        body: scripted(
          "const a = []; setInterval(() => a.push(new Uint8Array(2e7).fill(1)), 10); fetch('/held')",
        ),
      },
      "/neighbour": { body: scripted("fetch('/held')") },
      "/held": async () => {
        await blocked.opened;
        return { body: "" };
      },
    });
    const neighbour = roomy.fetch(`${site.origin}/neighbour`);
    await site.reached("/held");
    const before = it.pool.stats().browsers;
    expect(await roomy.fetch(`${site.origin}/`)).toMatchObject({ kind: "failed", reason: "out_of_memory" });
    blocked.open();
    expect(await neighbour).toMatchObject({ kind: "page" });
    expect(it.pool.stats().browsers).toEqual(before);
  }, 60_000);

  test("with a service worker is the page without it", async () => {
    const { site, answer } = await visit({
      "/": {
        body: scripted(
          "navigator.serviceWorker.register('/sw.js').then(() => { a.textContent = 'registered' })",
        ),
      },
      "/sw.js": { type: "text/javascript", body: "fetch('/from-worker')" },
    });
    expect(answer.kind === "page" && answer.body.toString()).not.toContain("registered<");
    expect([site.hits("/sw.js"), site.hits("/from-worker")]).toEqual([0, 0]);
  });

  test.each([
    ["by navigation", "location.href = '/file'"],
    [
      "by a link",
      "const l = document.createElement('a'); l.href = '/file'; l.download = 'f'; document.body.append(l); l.click()",
    ],
    [
      "out of itself",
      "const l = document.createElement('a'); l.href = URL.createObjectURL(new Blob(['x'])); l.download = 'f'; l.click()",
    ],
    ["in a frame", "const f = document.createElement('iframe'); f.src = '/file'; document.body.append(f)"],
  ])("that sends a file after itself, %s, is the page", async (_, script) => {
    const { answer } = await visit({
      "/": { body: scripted(script) },
      "/file": { type: "application/zip", headers: { "Content-Disposition": "attachment" }, body: "PK" },
    });
    expect(answer).toMatchObject({ kind: "page", status: 200, body_kind: "rendered_dom" });
    expect(answer.kind === "page" && answer.body.toString()).toContain("<title>t</title>");
  });

  test("that opens windows and will not be left is the page", async () => {
    const { site, answer } = await visit({
      "/": {
        body: scripted("onbeforeunload = () => 'stay'; for (let n = 0; n < 20; n++) open('/other?' + n)"),
      },
      "/other": { body: scripted("for (;;) open('/more')") },
    });
    expect(answer).toMatchObject({ kind: "page" });
    expect(site.hits("/more")).toBe(0);
  });

  test("whose subresources never arrive is answered as it stands then", async () => {
    const never = gate();
    const { answer } = await visit(
      {
        "/": { body: `<p>before<script src=/never></script><p>after` },
        "/never": async () => {
          await never.opened;
          return {};
        },
      },
      it.withLimits({ parse_ms: 1_000, settle_ms: 200 }),
    );
    expect(answer.kind === "page" && answer.body.toString()).toContain("before");
    never.open();
  });
});

/** An origin of its own on 127.0.0.1, where a page may use the storage of secure contexts. */
async function localOrigin(pages: (path: string) => string): Promise<{ origin: string; close: () => void }> {
  const server = createHttpServer((request, response) => {
    response.setHeader("content-type", "text/html").end(pages(request.url!));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => server.close() };
}

/** Scripts that each of three frames runs. */
const HOARDERS = {
  "that fill the file system of their origins": `(async () => { const d = await navigator.storage.getDirectory(); for (let n = 0; ; n++) { const w = await (await d.getFileHandle("f" + n, { create: true })).createWritable(); await w.write(new Uint8Array(2 ** 24).fill(n)); await w.close() } })()`,
  "that make blobs": `const b = []; setInterval(() => b.push(new Blob([new Uint8Array(2 ** 24).fill(b.length)])), 20)`,
  "that hold memory, each less than a page may": `const a = []; const t = setInterval(() => a.push(new Uint8Array(2 ** 24).fill(1)) > 11 && clearInterval(t), 20)`,
};

describeBrowser("a page with three frames of other origins", (openSetup, title) => {
  // How a browser counts what it stores is its own; that its memory is watched is not.
  const isOne = title === browsers.at(-1)?.[0];
  const hoarders = Object.entries(HOARDERS).slice(0, isOne ? undefined : 1);
  test.each(hoarders)(
    "%s is out_of_memory, and its neighbour stays",
    async (_, script) => {
      const it = await openSetup({
        pool: { page_mb: 400, shared_mb: 360, total_mb: 1_200 },
        page: { settle_ms: 30_000, quiet_ms: 30_000, page_ms: 60_000 },
      });
      const frames = await Promise.all([1, 2, 3].map(() => localOrigin(() => `<script>${script}</script>`)));
      const page = await localOrigin((path) =>
        path === "/neighbour"
          ? "<p>neighbour"
          : frames.map(({ origin }) => `<iframe src="${origin}/"></iframe>`).join(""),
      );
      const blocked = gate();
      const site = it.web.site({
        // It works more than the page that is to end.
        "/": {
          body: scripted(
            `fetch('/held'); setInterval(() => { for (const end = Date.now() + 45; Date.now() < end; ); }, 50)`,
          ),
        },
        "/held": async () => {
          await blocked.opened;
          return { body: "" };
        },
      });
      const neighbour = it.withLimits({ quiet_ms: QUIET_MS }).fetch(`${site.origin}/`);
      await site.reached("/held");
      const [browser] = it.pool.stats().browsers;
      let most_mb = 0;
      const sampling = setInterval(() => (most_mb = Math.max(most_mb, memoryMb(browser!))), 50);
      expect(await it.fetch(`${page.origin}/`)).toMatchObject({ kind: "failed", reason: "out_of_memory" });
      clearInterval(sampling);
      blocked.open();
      expect(await neighbour).toMatchObject({ kind: "page" });
      expect(most_mb).toBeGreaterThan(300);
      expect(most_mb).toBeLessThan(1_800);
      expect(await it.withLimits({ quiet_ms: QUIET_MS }).fetch(`${page.origin}/neighbour`)).toMatchObject({
        kind: "page",
      });
      for (const { close } of [...frames, page]) close();
      await it.close();
    },
    60_000,
  );
});

describeOneBrowser("a page at its limits", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ page: { quiet_ms: QUIET_MS } });
  });
  afterAll(() => it.close());

  test("with 2,000 subresources gets the maximum number, and is answered as it stands then", async () => {
    const scripts = Array.from({ length: 2_000 }, (_, n) => `<script src="/s?${n}"></script>`).join("");
    const site = it.web.site({
      "/": { body: `<!doctype html><p>before${scripts}<p>after` },
      "/s": { type: "text/javascript", body: ";" },
      "/good": GOOD,
    });
    const limited = it.withLimits({ requests: 200, page_ms: 100_000, parse_ms: 60_000 });
    expect(await limited.fetch(`${site.origin}/`)).toMatchObject({ kind: "page", status: 200 });
    expect(site.hits("/s")).toBeGreaterThan(100);
    // The browser goes offline a little after the 200th request, so some more are sent on a busy machine.
    expect(site.hits("/s")).toBeLessThan(1_999);
    expect(await it.fetch(`${site.origin}/good`)).toMatchObject({ kind: "page" });
  }, 120_000);

  test.each([
    ["by script", { body: scripted("location.href = '/?' + Math.random()") }],
    ["by itself", redirect("/")],
    ["by a header", { ...GOOD, headers: { Refresh: "0; url=/" } }],
  ])(
    "that navigates without end, %s, is too_many_redirects",
    async (_, page) => {
      const site = it.web.site({ "/": page });
      expect(await it.fetch(`${site.origin}/`)).toMatchObject({
        kind: "failed",
        reason: "too_many_redirects",
      });
      expect(site.hits("/")).toBeLessThanOrEqual(11);
      expect(it.visits.filter(({ released }) => released.length !== 1)).toEqual([]);
    },
    60_000,
  );

  test("that never comes ends with the caller's deadline, or the page's own", async () => {
    const never = gate();
    const site = it.web.site({
      "/": async () => {
        await never.opened;
        return {};
      },
    });
    const [hasty, patient] = await Promise.all([
      it.fetch(`${site.origin}/`, { signal: AbortSignal.timeout(500) }),
      it.withLimits({ page_ms: 1_500 }).fetch(`${site.origin}/`),
    ]);
    expect([hasty, patient]).toMatchObject([
      { kind: "failed", reason: "timeout", status: null },
      { kind: "failed", reason: "timeout", status: null },
    ]);
    expect(hasty.ms).toBeLessThan(patient.ms);
    never.open();
  });

  test("waits for a permit without using up its own time", async () => {
    const site = it.web.site({ "/": redirect("/good"), "/good": GOOD });
    const page_ms = 3_000;
    const answer = await it.withLimits({ page_ms }).fetch(`${site.origin}/`, {
      admit: async (url) => {
        if (url.endsWith("good")) await new Promise((resolve) => setTimeout(resolve, page_ms + 200));
        return { kind: "admitted", beforeSend: () => true, onSent: () => {}, release: () => {} };
      },
    });
    expect(answer).toMatchObject({ kind: "page" });
  });
});

describeBrowser("an origin that cannot be reached by a browser", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ page: { settle_ms: 500, quiet_ms: QUIET_MS } });
  });
  afterAll(() => it.close());

  test.each(["/garbage", "/reset-in-body"])(
    "that plays %s ends as it does by the direct route",
    async (path) => {
      const site = await hostileSite();
      const host = it.web.name(`plays${path.replaceAll("/", "-")}`, ["127.0.0.1"]);
      const answer = await it.fetch(`http://${host}:${site.port}${path}`, { max_bytes: 2 ** 20 });
      const word =
        answer.kind === "refused" ? answer.refusal.error : answer.kind === "failed" && answer.reason;
      expect(word).toBe(HOSTILE[path]!.ends);
      await site.close();
    },
    60_000,
  );

  test.each([
    ["whose name does not exist", "http://nowhere.test/", "dns_nxdomain"],
    ["whose name does not exist, over https", "https://nowhere.test/", "dns_nxdomain"],
  ])("%s is named as the direct route names it", async (_, url, reason) => {
    expect(await it.fetch(url)).toMatchObject({ kind: "failed", reason, status: null });
  });

  test("that refuses connections is network_refused", async () => {
    const gone = createServer().listen(0, "127.0.0.1");
    await once(gone, "listening");
    const { port } = gone.address() as { port: number };
    gone.close();
    it.web.name("one", ["127.0.0.1"]);
    expect(await it.fetch(`http://one.test:${port}/`)).toMatchObject({
      kind: "failed",
      reason: "network_refused",
    });
    expect(await it.fetch(`https://one.test:${port}/`)).toMatchObject({
      kind: "failed",
      reason: "network_refused",
    });
  });

  test("whose certificate is not its own is tls_error", async () => {
    const site = await hostileSite({ tls: true });
    it.web.name("one", ["127.0.0.1"]);
    expect(await it.fetch(`https://one.test:${site.port}/`)).toMatchObject({
      kind: "failed",
      reason: "tls_error",
    });
    await site.close();
  });
});

describeOneBrowser("an origin", (openSetup) => {
  test.each(["/redirect-metadata", "/redirect-private", "/loop-a", "/loop-self"])(
    "that plays %s ends as it does by the direct route",
    async (path) => {
      const it = await openSetup({ page: { quiet_ms: QUIET_MS } });
      const site = await hostileSite();
      const host = it.web.name(`plays${path.replaceAll("/", "-")}`, ["127.0.0.1"]);
      const answer = await it.fetch(`http://${host}:${site.port}${path}`, { max_bytes: 2 ** 20 });
      const word =
        answer.kind === "refused" ? answer.refusal.error : answer.kind === "failed" && answer.reason;
      expect(word).toBe(HOSTILE[path]!.ends);
      await site.close();
      await it.close();
    },
    60_000,
  );

  test("that does what it likes ends every page by name, in time, and leaves nothing", async () => {
    const hasty = await openSetup({
      pool: { pages: 8, pages_per_browser: 1_000 },
      page: { page_ms: 2_000, parse_ms: 500, settle_ms: 300, quiet_ms: QUIET_MS, read_ms: 1_000 },
    });
    const site = await hostileSite();
    const ends = new Map<string, string>();
    const paths = Object.keys(HOSTILE);
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
          // A site each, so that none waits for its distance from another.
          const host = hasty.web.name(`one-${paths.length}`, ["127.0.0.1"]);
          const answer = await hasty.fetch(`http://${host}:${site.port}${path}`, { max_bytes: 2 ** 20 });
          const word =
            answer.kind === "page"
              ? String(answer.status)
              : "reason" in answer
                ? answer.reason
                : answer.refusal.error;
          ends.set(path, word);
          expect({ path, late: answer.ms > 15_000 }).toEqual({ path, late: false });
        }
      }),
    );
    const known =
      /^(?:\d{3}|timeout|too_large|too_many_redirects|blocked_destination|invalid_url|network_(?:reset|protocol|encoding|failed|refused))$/;
    expect([...ends].filter(([, word]) => !known.test(word))).toEqual([]);
    await expect.poll(() => hasty.pool.stats().leased, { timeout: 10_000 }).toBe(0);
    expect(hasty.visits.filter(({ released }) => released.length !== 1)).toEqual([]);
    await hasty.close();
    await site.emptied();
    await site.close();
  }, 180_000);
});

describeBrowser("a browser", (openSetup, title) => {
  test("that ends with several pages in it was ended by one of them: each is tried once more", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS } });
    const never = gate();
    let tries = 0;
    const site = it.web.site({
      "/": { body: scripted("fetch('/held').then(() => (document.title = 'whole'))") },
      "/held": async () => {
        if (++tries <= 2) await never.opened;
        return {};
      },
    });
    const answers = [it.fetch(`${site.origin}/`), it.fetch(`${site.origin}/`)];
    await site.reached("/held", 2);
    process.kill(it.pool.stats().browsers[0]!, "SIGKILL");
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ kind: "page", status: 200 });
      expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
    }
    // A permit for each request, and all given back.
    expect(it.visits.map(({ released }) => released.length)).toEqual([1, 1, 1, 1]);
    never.open();
    await it.close();
  });

  test("a page that makes thousands of requests ends by itself, and its neighbour stays", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS, settle_ms: 15_000, requests: 50 } });
    const held = gate();
    const site = it.web.site({
      "/": { body: scripted("for (let n = 0; n < 2_000; n++) fetch('/f' + n).catch(() => {})") },
      "/neighbour": { body: scripted("fetch('/held').then(() => (document.title = 'whole'))") },
      "/held": async () => {
        await held.opened;
        return {};
      },
      "*": { body: "" },
    });
    const neighbour = it.fetch(`${site.origin}/neighbour`);
    await site.reached("/held");
    expect(await it.fetch(`${site.origin}/`)).toMatchObject({ kind: "failed", reason: "too_many_requests" });
    held.open();
    const answer = await neighbour;
    expect(answer.kind === "page" && answer.body.toString()).toContain("<title>whole</title>");
    await it.close();
  });

  test("that is killed with a page in it is browser_crashed for that page, and replaced for the next", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS } });
    const never = gate();
    const site = it.web.site({
      "/": { body: scripted("fetch('/never')") },
      "/never": async () => {
        await never.opened;
        return {};
      },
      "/good": GOOD,
    });
    const answer = it.fetch(`${site.origin}/`);
    await site.reached("/never");
    const [browser] = it.pool.stats().browsers;
    process.kill(browser!, "SIGKILL");
    expect(await answer).toMatchObject({ kind: "failed", reason: "browser_crashed" });
    expect(await it.fetch(`${site.origin}/good`)).toMatchObject({ kind: "page" });
    expect(it.pool.stats().browsers).not.toContain(browser);
    await expect.poll(() => living(browser!)).toEqual([]);
    expect(it.visits.every(({ released }) => released.length === 1)).toBe(true);
    never.open();
    await it.close();
  });

  test("leaves switched off all that Playwright switches off: the last list, which is ours, has it too", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": GOOD });
    await it.fetch(`${site.origin}/`);
    const [browser] = it.pool.stats().browsers;
    const { command } = living(browser!).find(({ pid }) => pid === browser)!;
    const lists = [...command.matchAll(/--disable-features=(\S+)/g)].map(([, names]) => names!.split(","));
    expect(lists).toHaveLength(2);
    expect(lists[1]).toEqual(expect.arrayContaining(lists[0]!));
    await it.close();
  });

  test("runs one process for a page, and none for invisible windows or sites that were not requested", async () => {
    const it = await openSetup({ page: { settle_ms: 20_000 } });
    const blocked = gate();
    const site = it.web.site({
      "/": { body: scripted("fetch('/held')") },
      "/held": async () => {
        await blocked.opened;
        return { body: "" };
      },
    });
    const answer = it.fetch(`${site.origin}/`);
    await site.reached("/held");
    const [browser] = it.pool.stats().browsers;
    expect(living(browser!, "renderer")).toHaveLength(1);
    blocked.open();
    expect(await answer).toMatchObject({ kind: "page" });
    await it.close();
  });

  test("that holds too much memory is replaced", async () => {
    const it = await openSetup({ pool: { browser_mb: 50 }, page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": { type: "text/plain", body: "x" } });
    await it.fetch(`${site.origin}/`);
    const [first] = it.pool.stats().browsers;
    await expect.poll(() => it.pool.stats().browsers, { timeout: 5_000 }).toEqual([]);
    await expect.poll(() => living(first!), { timeout: 5_000 }).toEqual([]);
    await it.close();
  });

  test("does not outlive a parent that is killed, not even with a script without end in it", async () => {
    const program = fileURLToPath(new URL("./browser.child.ts", import.meta.url));
    const child = spawn(process.execPath, [program, title], { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = (await once(child.stdout, "data")) as [Buffer];
    const browser = Number(output.toString());
    expect(living(browser).length).toBeGreaterThan(2);
    child.kill("SIGKILL");
    await expect.poll(() => living(browser), { timeout: 5_000 }).toEqual([]);
  });
});

describeOneBrowser("a browser of the pool", (openSetup) => {
  test("that is being started by several pages at once is one", async () => {
    const it = await openSetup({ page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": GOOD });
    await Promise.all([1, 2, 3].map(() => it.fetch(`${site.origin}/`)));
    expect(it.pool.stats().browsers).toHaveLength(1);
    await it.close();
  });

  test("is replaced after so many pages, and ends with the last of them", async () => {
    const it = await openSetup({ pool: { pages_per_browser: 3 }, page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": { type: "text/plain", body: "x" } });
    const seen = new Set<number>();
    for (let n = 0; n < 7; n++) {
      await it.fetch(`${site.origin}/`);
      for (const pid of it.pool.stats().browsers) seen.add(pid);
    }
    expect(seen.size).toBe(3);
    await expect.poll(() => [...seen].filter((pid) => isAlive(pid)).length, { timeout: 5_000 }).toBe(1);
    await it.close();
    expect([...seen].flatMap((pid) => living(pid))).toEqual([]);
  });

  test("that does not close is killed with all its processes", async () => {
    const it = await openSetup({ pool: { close_ms: 500 }, page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": GOOD });
    await it.fetch(`${site.origin}/`);
    const [browser] = it.pool.stats().browsers;
    process.kill(browser!, "SIGSTOP");
    await it.close();
    await expect.poll(() => living(browser!)).toEqual([]);
  });

  test("that hangs with a page in it gives the place back, and the next page gets another", async () => {
    const it = await openSetup({ pool: { close_ms: 300 }, page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": GOOD, "/slow": { body: scripted("setInterval(() => fetch('/'), 50)") } });
    const given_up = new AbortController();
    const answer = it
      .withLimits({ settle_ms: 60_000 })
      .fetch(`${site.origin}/slow`, { signal: given_up.signal });
    await site.reached("/");
    const [browser] = it.pool.stats().browsers;
    process.kill(browser!, "SIGSTOP");
    given_up.abort();
    expect(await answer).toMatchObject({ kind: "failed", reason: "timeout" });
    await expect.poll(() => it.pool.stats().leased, { timeout: 5_000 }).toBe(0);
    expect(await it.fetch(`${site.origin}/`)).toMatchObject({ kind: "page" });
    await expect.poll(() => living(browser!), { timeout: 5_000 }).toEqual([]);
    await it.close();
  });

  test("without a page for a while is closed, and started again for the next page", async () => {
    const it = await openSetup({ pool: { idle_ms: 300 }, page: { quiet_ms: QUIET_MS } });
    const site = it.web.site({ "/": GOOD });
    await it.fetch(`${site.origin}/`);
    const [browser] = it.pool.stats().browsers;
    await expect.poll(() => living(browser!), { timeout: 5_000 }).toEqual([]);
    expect(await it.fetch(`${site.origin}/`)).toMatchObject({ kind: "page" });
    await it.close();
  });

  test("has room for so many pages; as many may wait, one more is browser_busy", async () => {
    const it = await openSetup({
      pool: { pages: 1, waiting: 1, wait_ms: 1_500 },
      page: { quiet_ms: QUIET_MS },
    });
    const blocked = gate();
    const site = it.web.site({
      "/held": async () => {
        await blocked.opened;
        return GOOD;
      },
    });
    const first = it.fetch(`${site.origin}/held`);
    await site.reached("/held");
    const abort = new AbortController();
    const leaver = it.fetch(`${site.origin}/held`, { signal: abort.signal });
    await expect.poll(() => it.pool.stats().waiting).toBe(1);
    expect(await it.fetch(`${site.origin}/held`)).toMatchObject({ kind: "failed", reason: "browser_busy" });
    abort.abort();
    expect(await leaver).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(await it.fetch(`${site.origin}/held`)).toMatchObject({ kind: "failed", reason: "browser_busy" });
    const second = it.fetch(`${site.origin}/held`);
    blocked.open();
    expect(await Promise.all([first, second])).toMatchObject([{ kind: "page" }, { kind: "page" }]);
    expect(it.visits.every(({ released: answers }) => answers.length === 1)).toBe(true);
    await it.close();
  });

  test("that does not start is browser_unavailable, at once while it rests", async () => {
    const broken: Chromium = {
      from: "setting",
      sentence: "a program that is no browser",
      ready: async () => ({ path: "/bin/false", env: {} }),
    };
    const it = await openSetup({ chromium: broken });
    const answers = [await it.fetch("http://one.test/"), await it.fetch("http://one.test/")];
    expect(answers).toMatchObject([
      { kind: "failed", reason: "browser_unavailable" },
      { kind: "failed", reason: "browser_unavailable" },
    ]);
    expect(answers[1]!.ms).toBeLessThan(100);
    expect(it.pool.stats()).toEqual({ leased: 0, waiting: 0, browsers: [] });
    expect(it.visits.every(({ released }) => released.length === 1)).toBe(true);
    await it.close();
  });
});

describeOneBrowser("after two dozen pages", (openSetup) => {
  test("nothing is left of them: no process, no connection, no listener", async () => {
    const it = await openSetup({
      pool: { pages_per_browser: 10, idle_ms: 200 },
      page: { quiet_ms: QUIET_MS },
    });
    const site = it.web.site({
      "/": { body: scripted("a.textContent = 'x'.repeat(1e5); fetch('/data')") },
      "/data": { type: "text/plain", body: "y".repeat(100_000) },
    });
    const seen = new Set<number>();
    let next = 0;
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        while (next++ < 24) {
          expect(await it.fetch(`${site.origin}/`)).toMatchObject({ kind: "page" });
          for (const pid of it.pool.stats().browsers) seen.add(pid);
        }
      }),
    );
    expect(seen.size).toBeGreaterThanOrEqual(2);
    await expect
      .poll(() => it.pool.stats(), { timeout: 10_000 })
      .toEqual({ leased: 0, waiting: 0, browsers: [] });
    await expect.poll(() => [...seen].flatMap((pid) => living(pid)), { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => it.proxy.open(), { timeout: 10_000 }).toEqual({ from_browser: 0, to_origins: 0 });
    await it.close();
  }, 120_000);
});
