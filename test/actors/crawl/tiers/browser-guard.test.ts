/** SSRF protection of the browser: a page reaches no address that is not public, by any protocol. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Canary, canary } from "../../../harness/canary.ts";
import { redirect, type Pages } from "../../../harness/web.ts";
import { type BrowserSetup, describeBrowser, loopback } from "../../../harness/browser-harness.ts";

const scripted = (script: string): string =>
  `<!doctype html><title>t</title><p id=a>text</p><script>${script}</script>`;

/** Every way a page can ask for something, at an address (host and port). */
const WAYS: readonly (readonly [name: string, page: (target: string) => string])[] = [
  ["a script", (target) => `<script src="http://${target}/"></script>`],
  ["a style", (target) => `<link rel=stylesheet href="http://${target}/">`],
  ["an image", (target) => `<img src="http://${target}/">`],
  ["a video", (target) => `<video src="http://${target}/" autoplay preload=auto></video>`],
  ["a frame", (target) => `<iframe src="http://${target}/"></iframe>`],
  ["an object", (target) => `<object data="http://${target}/"></object><embed src="http://${target}/">`],
  [
    "hints",
    (target) =>
      `<link rel=preconnect href="http://${target}"><link rel=dns-prefetch href="http://${target}"><link rel=prefetch href="http://${target}/"><link rel=preload as=fetch href="http://${target}/"><link rel=modulepreload href="http://${target}/">`,
  ],
  [
    "speculation",
    (target) =>
      `<script type=speculationrules>{"prefetch":[{"urls":["http://${target}/"]}],"prerender":[{"urls":["http://${target}/"]}]}</script>`,
  ],
  [
    "a ping",
    (target) =>
      scripted(
        `const l = document.createElement("a"); l.href = "#x"; l.ping = "http://${target}/"; document.body.append(l); l.click(); navigator.sendBeacon("http://${target}/", "x")`,
      ),
  ],
  [
    "fetch",
    (target) =>
      scripted(`fetch("http://${target}/").then((r) => r.text()).then((t) => { a.textContent = t })`),
  ],
  [
    "fetch without CORS",
    (target) => scripted(`fetch("http://${target}/", { mode: "no-cors", method: "POST", body: "x" })`),
  ],
  ["fetch over https", (target) => scripted(`fetch("https://${target}/")`)],
  ["an event stream", (target) => scripted(`new EventSource("http://${target}/")`)],
  [
    "a WebSocket",
    (target) => scripted(`new WebSocket("ws://${target}/"); new WebSocket("wss://${target}/")`),
  ],
  [
    "a worker",
    (target) =>
      scripted(
        `new Worker(URL.createObjectURL(new Blob(['fetch("http://${target}/"); new WebSocket("ws://${target}/")'])))`,
      ),
  ],
  [
    "a shared worker",
    (target) => scripted(`new SharedWorker(URL.createObjectURL(new Blob(['fetch("http://${target}/")'])))`),
  ],
  ["WebTransport", (target) => scripted(`new WebTransport("https://${target}/").ready.catch(() => {})`)],
  [
    "WebRTC",
    (target) =>
      scripted(
        `const c = new RTCPeerConnection({ iceServers: [{ urls: "stun:${target}" }, { urls: ["turn:${target}?transport=udp", "turn:${target}?transport=tcp"], username: "u", credential: "c" }] }); c.createDataChannel("d"); c.createOffer().then((o) => c.setLocalDescription(o))`,
      ),
  ],
  [
    "a form",
    (target) =>
      `<form id=f method=post action="http://${target}/" target=g><input name=a></form><iframe name=g></iframe><script>f.submit()</script>`,
  ],
  ["a window", (target) => scripted(`open("http://${target}/")`)],
];

/** Asks a peer's helper over UDP, which no proxy carries; `w` is the window whose WebRTC is used. */
const peer = (target: string) =>
  `((w) => { const c = new w.RTCPeerConnection({ iceServers: [{ urls: "stun:${target}" }] }); c.createDataChannel("d"); c.createOffer().then((o) => c.setLocalDescription(o)); })`;

/** Frames of every making, for a script that wants a fresh window. */
const FRAMES: Readonly<Record<string, (run: string) => string>> = {
  "the page": (run) => `<script>${run}(window)</script>`,
  "a frame without an address": (run) =>
    `<script>const f = document.createElement("iframe"); document.documentElement.append(f); ${run}(f.contentWindow)</script>`,
  "a frame within that": (run) =>
    `<script>const f = document.createElement("iframe"); document.documentElement.append(f); const g = f.contentDocument.createElement("iframe"); f.contentDocument.documentElement.append(g); ${run}(g.contentWindow)</script>`,
  "a frame written anew": (run) =>
    `<script>const f = document.createElement("iframe"); document.documentElement.append(f); f.contentDocument.open(); f.contentDocument.write("<p>"); f.contentDocument.close(); ${run}(f.contentWindow)</script>`,
  srcdoc: (run) => `<iframe srcdoc='<script>${run}(window)</script>'></iframe>`,
  "javascript:": (run) => `<iframe src='javascript:${run}(window)'></iframe>`,
  "data:": (run) =>
    `<iframe src='data:text/html,<script>${encodeURIComponent(run)}(window)</script>'></iframe>`,
  "blob:": (run) =>
    `<iframe id=f></iframe><script>f.src = URL.createObjectURL(new Blob(["<script>", ${JSON.stringify(`${run}(window)`)}, "</scr" + "ipt>"], { type: "text/html" }))</script>`,
};

/** Chromium of the system, and the headless shell from npm: they are held by different walls. */
describeBrowser("a page", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup({ page: { settle_ms: 1_000 } });
  });
  afterAll(() => it.close());

  test.concurrent.each(Object.entries(FRAMES))("sends no UDP from %s", async (_, page) => {
    const inside = await canary();
    const run = peer(`127.0.0.2:${inside.port}`);
    const site = it.web.site({ "/": { body: `<!doctype html><body>${page(run)}` } });
    expect(await it.fetch(`${site.origin}/`)).toMatchObject({ kind: "page" });
    expect(inside.received).toEqual([]);
    await inside.close();
  });
});

describeBrowser("a page in a browser", (openSetup) => {
  let it: BrowserSetup;
  let inside: Canary;
  beforeAll(async () => {
    inside = await canary();
    it = await openSetup({ page: { settle_ms: 1_000 } });
    it.web.name("private", ["127.0.0.2"]);
    it.web.name("mixed", ["127.0.0.1", "127.0.0.2"]);
  });
  beforeEach(() => {
    inside.received.length = 0;
    it.refused.length = 0;
  });
  afterAll(async () => {
    await it.close();
    await inside.close();
  });
  const visit = async (pages: Pages) => it.fetch(`${it.web.site(pages).origin}/`);

  test.concurrent.each(WAYS)("reaches no private address by %s", async (_, page) => {
    // A canary of its own: the other tests run at the same time.
    const own = await canary();
    const places = [`127.0.0.2:${own.port}`, `private.test:${own.port}`, `mixed.test:${own.port}`];
    const answer = await visit({ "/": { body: places.map(page).join("") } });
    expect(answer).toMatchObject({ kind: "page", status: 200 });
    expect(own.received).toEqual([]);
    await own.close();
  });

  test("reaches none by a redirect of what it loads", async () => {
    const target = `http://127.0.0.2:${inside.port}/`;
    await visit({
      "/": {
        body: `<script src=/r></script><iframe src=/r></iframe><iframe src=/m></iframe>${scripted("fetch('/r')")}`,
      },
      "/r": redirect(target, 307),
      "/m": { body: `<meta http-equiv=refresh content="0; url=${target}">` },
    });
    expect(inside.received).toEqual([]);
    expect(it.refused).toContain(`127.0.0.2:${inside.port} blocked_destination`);
  });

  test("reaches none by a name that moves inside once it is known", async () => {
    const host = it.web.name("rebind", [["127.0.0.1"], ["127.0.0.2"]]);
    const answer = await visit({
      "/": {
        body: scripted(
          `(async () => { for (let n = 0; n < 5; n++) await fetch("http://${host}:${inside.port}/?" + n, { mode: "no-cors" }).catch(() => {}) })()`,
        ),
      },
    });
    expect(answer).toMatchObject({ kind: "page" });
    expect(inside.received).toEqual([]);
    // It keeps its first address, where nothing listens.
    expect(it.refused).toContain(`${host}:${inside.port} network_refused`);
    expect(it.refused).not.toContain(`${host}:${inside.port} blocked_destination`);
  });

  test.each([
    ["a redirect", redirect("http://127.0.0.2:PORT/")],
    ["a refresh", { body: `<meta http-equiv=refresh content="0; url=http://127.0.0.2:PORT/">` }],
    ["a script", { body: scripted("location.href = 'http://127.0.0.2:PORT/'") }],
    [
      "a form",
      { body: `<form id=f method=post action="http://127.0.0.2:PORT/"></form><script>f.submit()</script>` },
    ],
    ["the metadata service", redirect("http://169.254.169.254/latest/meta-data/")],
  ])("that leads itself there, by %s, is refused", async (_, page) => {
    const shown = JSON.parse(JSON.stringify(page).replaceAll("PORT", String(inside.port))) as typeof page;
    const answer = await visit({ "/": shown });
    expect(answer).toMatchObject({
      kind: "refused",
      refusal: { error: "blocked_destination", step: "egress" },
    });
    expect(inside.received).toEqual([]);
  });

  test("that leads itself to a name inside, or is at one, ends as at a name that does not exist", async () => {
    const ends = async (name: string) => {
      const url = `http://${name}:${inside.port}/`;
      const { web, fetch } = it;
      const answers = [await fetch(url), await fetch(web.site({ "/": redirect(url) }).origin + "/")];
      return answers.map(({ kind, ...end }) => [kind, "reason" in end ? end.reason : null]);
    };
    expect(await ends("private.test")).toEqual(await ends("nowhere.test"));
    expect(await ends("private.test")).toEqual([
      ["failed", "dns_nxdomain"],
      ["failed", "dns_nxdomain"],
    ]);
    expect(inside.received).toEqual([]);
  });

  test.each([
    ["http://127.0.0.2:PORT/", "blocked_destination"],
    ["http://mixed.test:PORT/", "blocked_destination"],
    ["file:///etc/passwd", "invalid_url"],
    ["chrome://version", "invalid_url"],
    ["data:text/html,x", "invalid_url"],
    ["view-source:http://127.0.0.1/", "invalid_url"],
  ])("cannot be %s: %s", async (url, error) => {
    const answer = await it.fetch(url.replace("PORT", String(inside.port)));
    expect(answer).toMatchObject({ kind: "refused", refusal: { error } });
    expect(inside.received).toEqual([]);
  });

  test("shows no file and no browser page in its frames", async () => {
    const answer = await visit({
      "/": {
        body: scripted(
          `for (const u of ["file:///etc/hostname", "chrome://version", "view-source:file:///etc/hostname"]) { const f = document.createElement("iframe"); f.src = u; document.body.append(f); } fetch("file:///etc/hostname").catch((e) => { a.textContent = "refused" })`,
        ),
      },
    });
    expect(answer.kind === "page" && answer.body.toString()).toContain("refused");
  });
});

describeBrowser("the same page without the egress proxy's rule", (openSetup) => {
  test("does reach private addresses: the canary receives the requests that the rule prevents", async () => {
    const open = await openSetup({
      page: { settle_ms: 1_000 },
      pool: { waiting: WAYS.length, wait_ms: 60_000 },
      judge: { url: loopback.url, address: () => "allowed" },
    });
    const received = new Map<string, boolean>();
    const reach = async ([name, page]: (typeof WAYS)[number]): Promise<void> => {
      const inside = await canary();
      const site = open.web.site({ "/": { body: page(`127.0.0.2:${inside.port}`) } });
      await open.fetch(`${site.origin}/`);
      received.set(name, inside.received.length > 0);
      await inside.close();
    };
    await Promise.all(WAYS.map(reach));
    const silent = [...received].filter(([, was]) => !was).map(([name]) => name);
    // Requests that are no part of an answer are not sent at all, WebRTC has no peers, and QUIC finds no proxy that knows it.
    expect(silent.toSorted()).toEqual([
      "WebRTC",
      "WebTransport",
      "a ping",
      "a video",
      "a window",
      "an image",
      "speculation",
    ]);
    await open.close();
  }, 120_000);
});
