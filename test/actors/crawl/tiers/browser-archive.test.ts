/** The route `browser` keeps a page for an archive: its documents and everything that it loads, byte for byte. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sha256Of } from "../../../../cluster/ports/blobs.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import type { KeptExchange } from "../../../../schemas/archives.ts";
import { type BrowserSetup, describeOneBrowser } from "../../../harness/browser-harness.ts";
import { ownPart } from "../../../harness/transport-request.ts";
import { coded, redirect } from "../../../harness/web.ts";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);
const DOCUMENT = Buffer.from(
  `<!doctype html><title>Z\xfcrich</title><link rel=stylesheet href=/style.css><img src=/dot.png><p id=a>empty</p>
  <script>fetch("/data").then((r) => r.json()).then(({ text }) => { a.textContent = text })</script>`,
  "latin1",
);

describeOneBrowser("an archived page in a browser", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => {
    it = await openSetup();
  });
  afterAll(() => it.close());

  const pathsOf = (kept: readonly KeptExchange[] = []): string[] =>
    kept.map(({ url }) => new URL(url).pathname).toSorted((a, b) => (a < b ? -1 : 1));

  test("has its redirects, its document and what it loads, with the bytes that the site sent", async () => {
    const bodies: Record<string, Buffer> = {
      "/page": DOCUMENT,
      "/style.css": Buffer.from("p { color: red }"),
      "/dot.png": PNG,
      "/data": Buffer.from(`{"text": "loaded later"}`),
    };
    const site = it.web.site({
      "/": redirect("/page"),
      "/page": {
        type: "text/html; charset=iso-8859-1",
        headers: { "X-Odd": "one", "Set-Cookie": "a=1" },
        body: DOCUMENT,
      },
      "/style.css": coded("gzip", { type: "text/css", body: bodies["/style.css"]! }),
      "/dot.png": { type: "image/png", body: PNG },
      "/data": { type: "application/json", body: bodies["/data"]! },
    });
    const began_ms = Date.now();
    const result = await it.fetch(`${site.origin}/`, {
      archive: true,
      screenshot: { type: "png", full_page: false },
      ...ownPart({ headers: [["X-Token", "planted"]], cookies: [{ name: "session", value: "planted" }] }),
    });
    if (result.kind !== "page") throw new Error(JSON.stringify(result));
    // The page is what it is without an archive.
    expect(result.body.toString()).toContain("loaded later");
    const kept = result.exchanges!;
    expect(pathsOf(kept)).toEqual(["/", "/data", "/dot.png", "/page", "/style.css"]);
    const [moved, ...others] = kept;
    expect(moved!.response).toMatchObject({ status: 302, body: { base64: "" } });
    for (const { url, started_at, response, request } of others) {
      const path = new URL(url).pathname;
      expect(Date.parse(started_at)).toBeGreaterThanOrEqual(began_ms);
      expect(request.method).toBe("GET");
      const body = bodies[path]!;
      expect([path, response.body]).toEqual([path, { sha256: sha256Of(body), bytes: body.length }]);
      expect((await readBody(it.blobs, sha256Of(body))).equals(body)).toBe(true);
    }
    const page = kept.find(({ url }) => url.endsWith("/page"))!;
    // The guard writes the names of plain HTTP in lower case.
    expect(page.response.fields).toEqual(
      expect.arrayContaining([
        ["x-odd", "one"],
        ["set-cookie", "a=1"],
      ]),
    );
    expect(site.arrivals.find(({ path }) => path === "/page")!.headers["x-token"]).toBe("planted");
    expect(JSON.stringify(kept)).not.toContain("planted");
    expect(page.request.omitted.map((name) => name.toLowerCase())).toContain("x-token");
  });

  test("has images, fonts and media without a picture, and media within the bound alone", async () => {
    const sound = Buffer.alloc(3_000, 1);
    const site = it.web.site({
      "/": {
        body: `<title>Loads</title><style>@font-face { font-family: F; src: url(/a.woff2) } p { font-family: F }</style>
          <p>${"word ".repeat(200)}</p><img src=/dot.png><audio src=/short.mp3 preload=auto></audio><audio src=/long.mp3 preload=auto></audio>`,
      },
      "/a.woff2": { type: "font/woff2", body: "no font" },
      "/dot.png": { type: "image/png", body: PNG },
      "/short.mp3": { type: "audio/mpeg", body: sound },
      "/long.mp3": { type: "audio/mpeg", body: Buffer.alloc(11 * 2 ** 20) },
    });
    const { exchanges = [] } = await it.fetch(`${site.origin}/`, { archive: true });
    expect([...new Set(pathsOf(exchanges))]).toEqual([
      "/",
      "/a.woff2",
      "/dot.png",
      "/long.mp3",
      "/short.mp3",
    ]);
    const responseOf = (path: string) => exchanges.find(({ url }) => url.endsWith(path))!.response;
    expect(responseOf("/short.mp3").body).toEqual({ sha256: sha256Of(sound), bytes: sound.length });
    expect(responseOf("/long.mp3")).toMatchObject({ body: null, truncated: "length" });
    const blocked = await it.fetch(`${site.origin}/`, { archive: true, blocked: ["image", "font", "media"] });
    expect(pathsOf(blocked.exchanges)).toEqual(["/"]);
  });

  test("does not wait for streams without an end", async () => {
    const ends: (() => void)[] = [];
    const site = it.web.site({
      "/": {
        body: `<title>Stream</title><p id=a>${"word ".repeat(200)}</p><script>new EventSource("/events")</script>`,
      },
      "/events": () =>
        new Promise((resolve) =>
          ends.push(() => resolve({ type: "text/event-stream", body: "data: 1\n\n" })),
        ),
    });
    const result = await it.fetch(`${site.origin}/`, { archive: true });
    for (const end of ends) end();
    expect(result.kind).toBe("page");
    expect(pathsOf(result.exchanges)).toContain("/");
  });

  test("keeps nothing unasked, and files as they came", async () => {
    const site = it.web.site({
      "/": { body: "<title>Plain</title><p>Text" },
      "/file": { type: "application/zip", body: PNG },
    });
    expect(await it.fetch(`${site.origin}/`)).not.toHaveProperty("exchanges");
    const { exchanges } = await it.fetch(`${site.origin}/file`, { archive: true });
    expect(exchanges).toMatchObject([
      { url: `${site.origin}/file`, response: { status: 200, body: { sha256: sha256Of(PNG) } } },
    ]);
    expect((await readBody(it.blobs, sha256Of(PNG))).equals(PNG)).toBe(true);
  });
});
