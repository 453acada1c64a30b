/** A page through the whole service: every field of its answer, every kind of content, every wish of a request. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { drawPage } from "../../actors/reading/content/pdfium.ts";
import { type FetchBody, MAX_BYTES_CEILING } from "../../schemas/fetch.ts";
import { hostileSite } from "../harness/hostile-site.ts";
import { scannedPage, writePdf } from "../actors/reading/content/pdf-writer.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, CHALLENGE, coded, gate, type Page, type Pages, prose, redirect } from "../harness/web.ts";
import { client } from "../harness/jobs-client.ts";
import { docx, epub, heading, odf, paragraph, pptx, xlsx } from "../harness/office-files.ts";

const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");
const WORDS = prose(10);
const GERMAN = `Grüße: ${"Die Straße führt über die Brücke nach Süden. ".repeat(15)}`;
const JAPANESE = "灯台の光は港を照らし、船は静かに岸へ戻った。";
/** JAPANESE in Shift_JIS; Node has no encoder for it. */
const SHIFT_JIS = Buffer.from(
  "939491e482cc8cf582cd8d6082f08fc682e782b58141914482cd90c382a982c98add82d696df82c182bd8142",
  "hex",
);
const HAS_TESSERACT = spawnSync("tesseract", ["--version"]).status === 0;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const PDF = writePdf({
  title: "Tide tables",
  pages: [{ lines: ["High water at noon"] }, { lines: ["Low water at six"] }, { lines: ["Slack at nine"] }],
});

const page = (title: string, text: string, encoding: BufferEncoding = "utf8", head = ""): Buffer =>
  Buffer.from(`${head}<title>${title}</title><article><p>${text}</p></article>`, encoding);

/** oxlint takes an expectation inside a condition for one that may be skipped. */
const containing = (text: string) => expect.stringContaining(text);

describe.each(SETUPS)("a fetch, $setup", ({ start }) => {
  const { sites, service } = scenario(start, () => (HAS_TESSERACT ? { TRAWL_OCR: "tesseract" } : {}));

  test("answers every field of an article", async () => {
    const text = prose(12, "the lighthouse");
    const body = `<!doctype html><html lang="en-GB"><head><meta charset="utf-8"><title>The Lamp | The Tide</title>
      <meta name="author" content="Ada Keeper"><meta name="description" content="What the lamp saw.">
      <meta property="og:site_name" content="The Tide"><meta property="og:title" content="The Lamp">
      <meta property="article:published_time" content="2026-03-04T05:06:07+01:00">
      <meta property="article:section" content="Coast">
      <link rel="canonical" href="/lamp"></head><body><nav><a href="/">Home</a></nav>
      <article><h1>The Lamp</h1><p>${text}</p></article></body></html>`;
    const site = sites.site({
      "/new": {
        body,
        headers: {
          ETag: '"v1"',
          "Last-Modified": "Wed, 04 Mar 2026 05:06:07 GMT",
          "Cache-Control": "max-age=600",
          "Content-Language": "en-GB",
          "Set-Cookie": "session=secret",
          "X-Powered-By": "steam",
          Link: '</style.css>; rel="preload"',
          "X-Robots-Tag": "noarchive",
        },
      },
    });
    const second = sites.site({ "/far": redirect(`${site.origin}/new`, 307) });
    const first = sites.site({ "/old": redirect(`${second.origin}/far`, 301) });

    const answer = await service.fetch({ url: `${first.origin}/old#part`, project_ref: "a note" });
    const { request_id, retrieved_at, attempts, headers, answer: http, meta, ...rest } = answer;

    expect(http.headers["content-type"]).toBe("application/json");
    expect(http.headers["x-request-id"]).toBe(request_id);
    expect(retrieved_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Math.abs(Date.now() - Date.parse(retrieved_at!))).toBeLessThan(60_000);
    expect(attempts).toEqual([
      { tier: "direct", status: 200, reason: "ok", ms: expect.any(Number), detail: null },
    ]);
    const { date, ...expected } = headers;
    expect(Date.parse(date!)).not.toBeNaN();
    expect(expected).toEqual({
      "content-type": "text/html; charset=utf-8",
      "content-length": String(Buffer.byteLength(body)),
      "content-language": "en-GB",
      etag: '"v1"',
      "last-modified": "Wed, 04 Mar 2026 05:06:07 GMT",
      "cache-control": "max-age=600",
      link: '</style.css>; rel="preload"',
      "x-robots-tag": "noarchive",
    });
    expect(meta).toEqual({
      author: "Ada Keeper",
      published_at: "2026-03-04T04:06:07Z",
      modified_at: null,
      language: "en-GB",
      canonical_url: `${site.origin}/lamp`,
      publisher: null,
      site_name: "The Tide",
      description: "What the lamp saw.",
      section: "Coast",
      word_count: rest.text.split(/\s+/).length,
    });
    expect(rest).toEqual({
      http: 200,
      url: `${first.origin}/old#part`,
      final_url: `${site.origin}/new`,
      redirects: [
        { url: `${first.origin}/old`, status: 301, location: `${second.origin}/far` },
        { url: `${second.origin}/far`, status: 307, location: `${site.origin}/new` },
      ],
      status: 200,
      content_type: "text/html; charset=utf-8",
      origin_content_type: "text/html; charset=utf-8",
      tier: "direct",
      html: body,
      text: expect.stringContaining(text),
      pdf_text_pages: null,
      pdf_page_count: null,
      text_truncated: false,
      title: "The Lamp",
      sha256: sha256(body),
      bytes: Buffer.byteLength(body),
      cached: false,
      revalidated: false,
      etag: '"v1"',
      last_modified: "Wed, 04 Mar 2026 05:06:07 GMT",
      cost_usd: 0,
      billing_category: "fetch_own",
      archived_at: null,
      served_from_archive_because: null,
      body_url: `/v1/bodies/${sha256(body)}`,
      body_kind: "origin",
      content_kind: "html",
      paywall: "none",
      paywall_evidence: [],
      alternate_of: null,
      alternate_source: null,
      match_score: null,
      primary_sources: [],
      text_complete: true,
      page_verdict: "page",
      error: null,
      retry_after_s: null,
    });
    expect(rest.text).not.toContain("Home");
  });

  test("follows at most ten redirects, each under the rules of its own site", async () => {
    const chain: Pages = Object.fromEntries(
      Array.from({ length: 11 }, (_, n) => [`/${n}`, redirect(`/${n + 1}`)]),
    );
    const site = sites.site({ ...chain, "/11": { body: article("Too far") } });
    const ten = await service.fetch({ url: `${site.origin}/1` });
    expect(ten).toMatchObject({ error: null, title: "Too far" });
    expect(ten.redirects).toHaveLength(10);
    const eleven = await service.fetch({ url: `${site.origin}/0`, tiers: ["direct"] });
    expect(eleven).toMatchObject({ error: "all_tiers_failed", status: 302 });
    expect(eleven.attempts).toMatchObject([{ tier: "direct", reason: "too_many_redirects" }]);

    const closed = sites.site({ "/robots.txt": { type: "text/plain", body: "User-agent: *\nDisallow: /" } });
    const open = sites.site({ "/": redirect(`${closed.origin}/secret`) });
    expect(await service.fetch({ url: `${open.origin}/` })).toMatchObject({ error: "robots_disallowed" });
    expect(closed.hits("/secret")).toBe(0);
  });

  test("sends a browser's fields to the page, and the crawler's name to robots.txt", async () => {
    const site = sites.site({ "/": { body: article("Fields") } });
    await service.fetch({ url: `${site.origin}/`, accept_language: "de-CH,de;q=0.8" });

    const [robots, asked] = site.arrivals;
    expect(robots!.path).toBe("/robots.txt");
    expect(robots!.headers["user-agent"]).toContain("trawl");
    expect(asked!.path).toBe("/");
    expect(asked!.headers).toMatchObject({
      "user-agent": expect.stringMatching(/^Mozilla\/5\.0 .*Chrome\//),
      "accept-language": "de-CH,de;q=0.8",
      "accept-encoding": "gzip, deflate, br, zstd",
    });
    expect(asked!.headers).not.toHaveProperty("cookie");
    expect(asked!.headers).not.toHaveProperty("authorization");
  });

  test("sends a user agent that its project is allowed to use, and refuses any other with 403", async () => {
    const site = sites.site({ "/": { body: article("Agents") } });
    const agent = "HarbourReader/2.0 (+https://harbour.example)";
    await service.trawl("project", "create", "readers");
    const { key } = await service.trawl("key", "create", "--project", "readers");
    const ask = () =>
      service.call("POST", "/v1/fetch", { key, body: { url: `${site.origin}/`, user_agent: agent } });

    const refused = await ask();
    expect(refused.status).toBe(403);
    expect(refused.json).toEqual({
      detail: { error: "user_agent_not_allowed", hint: expect.stringContaining(agent) },
    });
    expect(site.arrivals).toEqual([]);

    await service.trawl("project", "allow-agent", "readers", agent);
    await expect.poll(async () => (await ask()).status, { timeout: 6_000, interval: 200 }).toBe(200);
    expect(site.arrivals.at(-1)).toMatchObject({ path: "/", headers: { "user-agent": agent } });
  });

  describe("kinds of content", () => {
    const PAGES: Pages = {
      "/gzip": coded("gzip", { body: article("Coded", WORDS) }),
      "/br": coded("br", { body: article("Coded", WORDS) }),
      "/zstd": coded("zstd", { body: article("Coded", WORDS) }),
      "/deflate": coded("deflate", { body: article("Coded", WORDS) }),
      "/windows-1252": { type: "text/html; charset=windows-1252", body: page("Zürich", GERMAN, "latin1") },
      "/meta": {
        type: "text/html",
        body: page("Zürich", GERMAN, "latin1", '<meta charset="iso-8859-1">'),
      },
      "/bom": {
        type: "text/html; charset=iso-8859-1",
        body: Buffer.concat([BOM, page("Zürich", GERMAN)]),
      },
      "/shift-jis": {
        type: "text/html; charset=Shift_JIS",
        body: Buffer.concat([
          Buffer.from("<title>Tides</title><article><p>"),
          ...Array.from({ length: 25 }, () => SHIFT_JIS),
          Buffer.from("</p></article>"),
        ]),
      },
      "/json": { type: "application/json", body: '{"tide":"high","metres":3.5}' },
      "/feed": {
        type: "application/rss+xml",
        body:
          '<?xml version="1.0"?><rss version="2.0"><channel><title>Tides</title>' +
          "<item><title>High</title></item></channel></rss>",
      },
      "/xml": { type: "text/xml", body: "<tides><tide>high</tide></tides>" },
      "/plain": { type: "text/plain; charset=utf-8", body: "High tide at noon.\nLow tide at six." },
      "/binary": { type: "application/octet-stream", body: Buffer.from([0, 1, 2, 3, 0xff, 0xfe, 0]) },
      "/image": { type: "image/png", body: Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]) },
      "/report.docx": { type: "application/octet-stream", body: docx(heading("Tides") + paragraph(WORDS)) },
      "/empty": { type: "text/plain", body: "" },
      "/untyped": { type: null, body: article("Untyped", WORDS) },
    };
    const CASES: readonly { path: string; kind: string; text: string; title?: string }[] = [
      { path: "/gzip", kind: "html", text: WORDS, title: "Coded" },
      { path: "/br", kind: "html", text: WORDS, title: "Coded" },
      { path: "/zstd", kind: "html", text: WORDS, title: "Coded" },
      { path: "/deflate", kind: "html", text: WORDS, title: "Coded" },
      { path: "/windows-1252", kind: "html", text: "Die Straße führt über die Brücke", title: "Zürich" },
      { path: "/meta", kind: "html", text: "Die Straße führt über die Brücke", title: "Zürich" },
      { path: "/bom", kind: "html", text: "Die Straße führt über die Brücke", title: "Zürich" },
      { path: "/shift-jis", kind: "html", text: JAPANESE, title: "Tides" },
      { path: "/json", kind: "json", text: '{"tide":"high","metres":3.5}' },
      { path: "/feed", kind: "xml", text: "High" },
      { path: "/xml", kind: "xml", text: "high" },
      { path: "/plain", kind: "text", text: "High tide at noon.\nLow tide at six." },
      { path: "/binary", kind: "binary", text: "" },
      { path: "/image", kind: "binary", text: "" },
      { path: "/report.docx", kind: "docx", text: WORDS, title: "Lake levels" },
      { path: "/empty", kind: "text", text: "" },
      { path: "/untyped", kind: "html", text: WORDS, title: "Untyped" },
    ];

    test.each(CASES)("reads $path as $kind", async ({ path, kind, text, title }) => {
      const site = sites.site(PAGES);
      const answer = await service.fetch({ url: `${site.origin}${path}` });
      const html = kind === "html";
      expect(answer).toMatchObject({
        error: null,
        status: 200,
        content_kind: kind,
        tier: "direct",
        text: text === "" ? "" : containing(text),
        html: html ? containing(text) : null,
        ...(title !== undefined && { title }),
      });
      // Fields of HTML only.
      const { meta, paywall, text_complete } = answer;
      expect([meta, paywall, text_complete].map((field) => field !== null)).toEqual([html, html, html]);
    });

    test("reads a PDF page by page, whatever its declared type", async () => {
      const site = sites.site({
        "/tides.pdf": { type: "application/pdf", body: PDF },
        "/download": { type: "application/octet-stream", body: PDF },
      });
      for (const path of ["/tides.pdf", "/download"]) {
        const answer = await service.fetch({ url: `${site.origin}${path}` });
        expect(answer).toMatchObject({
          error: null,
          content_kind: "pdf",
          title: "Tide tables",
          pdf_page_count: 3,
          pdf_text_pages: [
            { page: 1, text: "High water at noon" },
            { page: 2, text: "Low water at six" },
            { page: 3, text: "Slack at nine" },
          ],
          text_truncated: false,
          html: null,
          meta: null,
          sha256: sha256(PDF),
          bytes: PDF.length,
        });
        expect(answer.text).toMatch(/High water at noon\s+Low water at six\s+Slack at nine/);
      }
    });

    test("answers a text beyond the inline limit completely, also from the cache", async () => {
      const text = prose(1_500);
      const site = sites.site({ "/": { body: article("Long", text) } });
      const fresh = await service.fetch({ url: `${site.origin}/` });
      const cached = await service.fetch({ url: `${site.origin}/` });
      expect(fresh.text).toContain(text);
      expect(cached.cached).toBe(true);
      expect(cached.text).toBe(fresh.text);
    });
  });

  describe("request fields", () => {
    test("formats adds Markdown, links and images, also to a stored page, and asks the site once", async () => {
      const list =
        '<h2>Fares</h2><ul><li>Adults pay <b>four</b> crowns a day</li></ul><a href="/map">Map</a>';
      const body = article("Ferry")
        .replace("</article>", `${list}<img src="quay.png" alt="Quay"></article>`)
        .replace(
          "</head>",
          '<link rel="next" href="/2"><link rel="alternate" hreflang="de" href="/de"></head>',
        );
      const site = sites.site({ "/": { body } });
      const url = `${site.origin}/`;
      const plain = await service.fetch({ url });
      for (const field of ["markdown", "links", "images"]) expect(plain).not.toHaveProperty(field);
      for (const field of ["next_url", "alternates"]) expect(plain.meta).not.toHaveProperty(field);
      const { text, ...answer } = await service.fetch({ url, formats: ["markdown", "links", "images"] });
      expect(answer).toMatchObject({
        cached: true,
        error: null,
        links: ["/", "/about", "/map"].map((path) => ({ url: `${site.origin}${path}`, rel: null })),
        images: [{ url: `${site.origin}/quay.png`, alt: "Quay", width: null, height: null }],
        meta: {
          next_url: `${site.origin}/2`,
          alternates: [{ url: `${site.origin}/de`, language: "de", type: null }],
        },
      });
      expect(answer.markdown).toContain("## Fares\n\n- Adults pay **four** crowns a day");
      expect(text).toBe(plain.text);
      const links = await service.fetch({ url, formats: ["links"] });
      expect([links.links, links.markdown]).toEqual([answer.links, undefined]);
      expect(site.hits("/")).toBe(1);
    });

    test("a batch and the cache answer every format of every kind as the single fetch does", async () => {
      const fares =
        "<h2>Fares</h2><ul><li>Adults <b>four</b></li></ul><table><tr><th>To<th>Fare<tr><td>Oskerry<td>4</table>";
      const feed = `<rss version="2.0"><channel><title>Tides</title><item><title>High water</title>
        <link>https://tides.example/high</link><description>${WORDS}</description></item></channel></rss>`;
      const book = epub({ "one.xhtml": `<h1>The ferry</h1><p>${WORDS}</p>` });
      const site = sites.site({
        "/page": {
          body: article("Ferry").replace("</article>", `${fares}<img src="q.png" alt="Quay"></article>`),
        },
        "/feed": { type: "application/rss+xml", body: feed },
        "/pdf": { type: "application/pdf", body: PDF },
        "/docx": { body: docx(heading("Ferry") + paragraph(WORDS)), type: "application/octet-stream" },
        "/xlsx": { body: xlsx("Fares", { A1: "Oskerry", B1: 4 }), type: "application/octet-stream" },
        "/pptx": { body: pptx("Ferry", [WORDS]), type: "application/octet-stream" },
        "/odt": { body: odf("odt", `<text:p>${WORDS}</text:p>`), type: "application/octet-stream" },
        "/epub": { body: book, type: "application/epub+zip" },
        "/rtf": { body: `{\\rtf1\\ansi ${WORDS}}`, type: "application/rtf" },
        "/zip": { body: Buffer.from("504b0506".padEnd(44, "0"), "hex"), type: "application/zip" },
      });
      const KINDS = ["html", "xml", "pdf", "docx", "xlsx", "pptx", "odt", "epub", "rtf", "binary"];
      const PATHS = ["page", "feed", "pdf", "docx", "xlsx", "pptx", "odt", "epub", "rtf", "zip"];
      const FIELDS = ["title", "text", "text_truncated", "meta", "content_kind", "sha256", "bytes", "error"];
      const FORMS = ["markdown", "links", "images", "entries"];
      const content = (result: object) =>
        Object.fromEntries(Object.entries(result).filter(([name]) => [...FIELDS, ...FORMS].includes(name)));
      const request = (path: string): FetchBody => ({
        url: `${site.origin}/${path}`,
        formats: ["markdown", "links", "images", "entries"],
        min_text_chars: 0,
      });
      // A batch first for one half, single fetches first for the other.
      const singles = PATHS.filter((_, n) => n % 2 === 0);
      for (const path of singles) expect((await service.fetch(request(path))).cached).toBe(false);
      const jobs = client(service);
      const { job_id } = (await jobs.create(PATHS.map(request))).json;
      await jobs.finished(job_id);
      const items = await jobs.items(job_id);
      for (const [n, path] of PATHS.entries()) {
        const again = await service.fetch(request(path));
        expect([path, again.cached, again.content_kind]).toEqual([path, true, KINDS[n]]);
        expect(content(again)).toEqual(content(items[n]!.result!));
        expect(Object.keys(content(again))).toHaveLength(FIELDS.length + FORMS.length);
        expect(items[n]!.result).toMatchObject({ cached: singles.includes(path) });
        expect(site.hits(`/${path}`)).toBe(1);
      }
    });

    test("formats adds the entries of a sitemap, and none of a page", async () => {
      const map = "<urlset><url><loc>https://tides.example/high</loc></url></urlset>";
      const site = sites.site({
        "/sitemap.xml": { type: "text/xml", body: map },
        "/": { body: article("Ferry") },
      });
      const entry = { url: "https://tides.example/high", title: null, published_at: null, summary: null };
      const formats = ["entries" as const];
      expect((await service.fetch({ url: `${site.origin}/sitemap.xml`, formats })).entries).toEqual([entry]);
      expect((await service.fetch({ url: `${site.origin}/`, formats })).entries).toEqual([]);
    });

    test("include_html false leaves the field out, null and true include it", async () => {
      const site = sites.site({ "/": { body: article("Html") } });
      const url = `${site.origin}/`;
      expect(await service.fetch({ url, include_html: false })).not.toHaveProperty("html");
      expect((await service.fetch({ url, include_html: null })).html).toBe(article("Html"));
      expect((await service.fetch({ url, include_html: true })).html).toBe(article("Html"));
    });

    test("max_bytes ends the download, whether or not the origin declares a length", async () => {
      const body = article("Big", prose(2_000));
      const site = sites.site({
        "/said": { body },
        "/coded": coded("gzip", { body }),
        "/exact": { body: Buffer.alloc(5_000, "a"), type: "text/plain" },
      });
      for (const path of ["/said", "/coded"]) {
        const answer = await service.fetch({ url: `${site.origin}${path}`, max_bytes: 10_000 });
        expect(answer).toMatchObject({
          error: "too_large",
          text: "",
          html: null,
          sha256: null,
          body_url: null,
        });
        expect(answer.attempts).toMatchObject([{ tier: "direct", reason: "too_large" }]);
      }
      const url = `${site.origin}/exact`;
      expect(await service.fetch({ url, max_bytes: 4_999 })).toMatchObject({ error: "too_large" });
      expect(await service.fetch({ url, max_bytes: 5_000 })).toMatchObject({ error: null, bytes: 5_000 });
      // The page, stored by now, is as much too large for the next caller.
      expect(await service.fetch({ url, max_bytes: 4_999 })).toMatchObject({
        error: "too_large",
        cached: true,
        text: "",
      });
    });

    test("max_bytes is checked while streaming: an endless body is aborted", async () => {
      let written = 0;
      const endless = await endlessOrigin((bytes) => (written += bytes));
      const host = sites.name("endless", ["127.0.0.1"]);
      const answer = await service.fetch({
        url: `http://${host}:${endless.port}/`,
        max_bytes: MAX_BYTES_CEILING / 50,
        tiers: ["direct"],
      });
      expect(answer).toMatchObject({ error: "too_large" });
      await endless.left;
      // The buffers of two sockets come on top.
      expect(written).toBeLessThan(MAX_BYTES_CEILING / 50 + 16 * 2 ** 20);
      endless.close();
    });

    test.skipIf(!HAS_TESSERACT)(
      "recognises the text of scanned pages (needs Debian's tesseract-ocr)",
      async () => {
        const typed = ["The harbour was built in 1902", "and its cranes lifted 40 tons."];
        const bytes = writePdf({ pages: [{ lines: typed }] });
        const picture = (await drawPage({ bytes, page: 1, dpi: 200 }))!;
        const site = sites.site({ "/scan.pdf": { body: writePdf({ pages: [scannedPage(picture)] }) } });
        const body = await service.fetch({ url: `${site.origin}/scan.pdf`, formats: ["markdown"] });
        expect(body).toMatchObject({
          error: null,
          text: typed.join("\n"),
          markdown: containing(typed.join(" ")),
          pdf_text_pages: [{ page: 1, text: typed.join("\n"), ocr: true }],
        });
      },
    );

    test("accept_pdf false turns a PDF into pdf_not_accepted, a stored one as well", async () => {
      const site = sites.site({ "/tides.pdf": { type: "application/pdf", body: PDF } });
      const url = `${site.origin}/tides.pdf`;
      const fresh = await service.fetch({ url, accept_pdf: false });
      expect(fresh).toMatchObject({ error: "pdf_not_accepted", text: "", pdf_text_pages: null });
      expect(fresh.attempts).toMatchObject([{ tier: "direct", status: 200, reason: "pdf_not_accepted" }]);
      expect(await service.fetch({ url })).toMatchObject({ error: null, pdf_page_count: 3 });
      expect(await service.fetch({ url, accept_pdf: false })).toMatchObject({
        error: "pdf_not_accepted",
        cached: true,
        text: "",
      });
    });

    test("min_text_chars decides what is thin, and a thin page is returned without an error", async () => {
      const site = sites.site({ "/": { body: "<title>Short</title><article><p>Two words.</p></article>" } });
      const url = `${site.origin}/`;
      const thin = await service.fetch({ url });
      expect(thin).toMatchObject({ error: null, status: 200, tier: "direct", title: "Short" });
      expect(thin.attempts).toMatchObject([
        { tier: "direct", status: 200, reason: "thin_content" },
        { tier: "browser", status: null, reason: "not_configured" },
      ]);
      const enough = await service.fetch({ url, min_text_chars: 5, cache_ttl_s: 0 });
      expect(enough.attempts).toMatchObject([{ tier: "direct", reason: "ok" }]);
    });
  });

  describe("routes", () => {
    const BLOCKED: Page = { status: 503, body: "<h1>Busy</h1>" };
    const ROUTES: readonly { overrides: object; tiers: readonly string[] }[] = [
      { overrides: {}, tiers: ["direct", "browser", "archive", "proxy", "proxy_render"] },
      { overrides: { render: "never" }, tiers: ["direct", "archive", "proxy"] },
      { overrides: { render: "always" }, tiers: ["browser", "proxy_render"] },
      { overrides: { allow_archive: false }, tiers: ["direct", "browser", "proxy", "proxy_render"] },
      { overrides: { allow_paid: false }, tiers: ["direct", "browser", "archive"] },
      { overrides: { tiers: ["proxy", "direct"] }, tiers: ["direct", "proxy"] },
      { overrides: { tiers: ["browser"] }, tiers: ["browser"] },
    ];

    test.each(ROUTES)("$overrides takes the routes $tiers", async ({ overrides, tiers }) => {
      const site = sites.site({ "/": BLOCKED });
      // An alternate, looked for afterwards, is no route: test/fetch has it.
      const answer = await service.fetch({ url: `${site.origin}/`, allow_alternates: false, ...overrides });
      const direct = tiers.includes("direct");
      expect(answer).toMatchObject({
        error: "all_tiers_failed",
        error_detail: expect.any(String),
        status: direct ? 503 : null,
        tier: null,
        text: "",
        premium_routes_tried: false,
      });
      expect(answer.attempts.map(({ tier, status, reason }) => ({ tier, status, reason }))).toEqual(
        tiers.map((tier) =>
          tier === "direct"
            ? { tier, status: 503, reason: "http_503" }
            : { tier, status: null, reason: "not_configured" },
        ),
      );
      expect(site.hits("/")).toBe(direct ? 1 : 0);
    });

    test.each([
      { tiers: [] },
      { tiers: ["browser"], render: "never" },
      { tiers: ["direct", "archive"], render: "always" },
      { tiers: ["archive"], allow_archive: false },
      { tiers: ["proxy", "proxy_render"], allow_paid: false },
    ] as const)("%o leaves no_tier_allowed", async (overrides) => {
      const site = sites.site({ "/": { body: article("Unasked") } });
      const body = { ...overrides, tiers: [...overrides.tiers], url: `${site.origin}/` };
      const answer = await service.fetch(body);
      expect(answer).toMatchObject({ http: 200, error: "no_tier_allowed", attempts: [], tier: null });
      expect(site.arrivals).toEqual([]);
    });
  });

  describe("the origin's answer", () => {
    test.each([400, 401, 402, 404, 405, 406, 410, 418])("%i is final", async (status) => {
      const site = sites.site({ "/": { status, body: article(`Status ${status}`) } });
      const answer = await service.fetch({ url: `${site.origin}/`, allow_alternates: false });
      const gone = status === 404 || status === 410;
      expect(answer).toMatchObject({
        http: 200,
        error: `http_${status}`,
        status,
        tier: "direct",
        premium_routes_tried: false,
      });
      expect(answer.attempts).toMatchObject([
        { tier: "direct", status, reason: `http_${status}` },
        ...(gone ? [{ tier: "archive", reason: "not_configured" }] : []),
      ]);
    });

    test.each([403, 429, 451, 500, 502, 503, 504, 520])("%i is a block", async (status) => {
      const site = sites.site({ "/": { status, body: "<h1>No</h1>" } });
      const answer = await service.fetch({
        url: `${site.origin}/`,
        render: "never",
        allow_alternates: false,
      });
      expect(answer).toMatchObject({ http: 200, error: "all_tiers_failed", status });
      expect(answer.attempts[0]).toMatchObject({ tier: "direct", status, reason: `http_${status}` });
      expect(answer.attempts).toHaveLength(3);
    });

    test("a challenge is named by its vendor, whatever its status", async () => {
      const site = sites.site({ "/": CHALLENGE, "/soft": { ...CHALLENGE, status: 200 } });
      for (const path of ["/", "/soft"]) {
        const answer = await service.fetch({ url: `${site.origin}${path}`, tiers: ["direct"] });
        expect(answer).toMatchObject({ error: "all_tiers_failed", text: "" });
        expect(answer.attempts).toMatchObject([{ tier: "direct", reason: "challenge_cloudflare" }]);
      }
    });

    test("a check that is served with status 200 is no page, and what stands for a page is said", async () => {
      const html = (body: string): Page => ({ headers: { "Content-Type": "text/html" }, body });
      const missing =
        "<title>Page not found | The Tide</title><h1>Page not found</h1><p>Try the start page.</p>";
      const site = sites.site({
        "/checked": html(
          '<html><meta http-equiv="refresh" content="0;/.well-known/sgcaptcha/?r=%2F"></html>',
        ),
        "/missing": html(missing),
        "/gone": { ...html(missing), status: 410 },
        "/shop": html('<title>Shop</title><div id="root"></div><script src="/main.js"></script>'),
        "/table.json": { headers: { "Content-Type": "application/json" }, body: "{}" },
      });
      const answers = await Promise.all(
        ["checked", "missing", "gone", "shop", "table.json"].map((path) =>
          service.fetch({
            url: `${site.origin}/${path}`,
            tiers: ["direct"],
            min_text_chars: 0,
            allow_alternates: false,
          }),
        ),
      );
      const [checked, ...pages] = answers;
      expect(checked).toMatchObject({ error: "all_tiers_failed", text: "" });
      expect(checked!.attempts).toMatchObject([{ tier: "direct", reason: "challenge_siteground" }]);
      expect(pages.map(({ error, page_verdict }) => [error, page_verdict])).toEqual([
        [null, "soft_404"],
        ["http_410", null],
        [null, "empty_shell"],
        [null, null],
      ]);
    });

    test.each<[string, Pages, object]>([
      ["204", { "/": { status: 204 } }, { error: "http_204", status: 204 }],
      ["a 304 that was not asked for", { "/": { status: 304 } }, { error: "http_304", status: 304 }],
      [
        "a broken PDF that calls itself HTML",
        { "/": { body: "%PDF-1.7\nand nothing of it" } },
        {
          error: "unreadable_document",
          content_type: "application/pdf",
          origin_content_type: "text/html; charset=utf-8",
        },
      ],
      [
        "a redirect to a page that is not there",
        { "/": redirect("/gone"), "/gone": { status: 404 } },
        {
          error: "http_404",
          redirects: [{ status: 302, location: "/gone" }],
          final_url: containing("/gone"),
        },
      ],
      [
        "a redirect to where no request may go",
        { "/": redirect("http://127.0.0.1:9/") },
        {
          error: "blocked_destination",
          redirects: [{ status: 302, location: "http://127.0.0.1:9/" }],
          final_url: "http://127.0.0.1:9/",
        },
      ],
    ])("%s is told as what it is, with a sentence", async (_, pages, expected) => {
      const site = sites.site({ "/robots.txt": { status: 404 }, ...pages });
      const answer = await service.fetch({
        url: `${site.origin}/`,
        render: "never",
        allow_alternates: false,
      });
      expect(answer).toMatchObject({ ...expected, error_detail: expect.stringMatching(/\w \w/) });
    });

    test("a certificate without a trusted issuer is tls_error, a closed port is network_refused", async () => {
      const tls = await hostileSite({ tls: true });
      const secret = sites.name("selfsigned", ["127.0.0.1"]);
      const closed = sites.name("closed", ["127.0.0.1"]);
      const one = await service.fetch({ url: `https://${secret}:${tls.port}/`, tiers: ["direct"] });
      expect(one).toMatchObject({ error: "all_tiers_failed", status: null });
      expect(one.attempts).toMatchObject([{ tier: "direct", reason: "tls_error" }]);
      await tls.close();
      const two = await service.fetch({ url: `http://${closed}:${tls.port}/`, tiers: ["direct"] });
      expect(two.attempts).toMatchObject([{ tier: "direct", reason: "network_refused" }]);
    });

    test("a failing name server is dns_error, and makes no host dead", async () => {
      const host = sites.name("servfail", "SERVFAIL");
      for (let n = 0; n < 2; n++) {
        const answer = await service.fetch({ url: `http://${host}/`, tiers: ["direct"] });
        expect(answer).toMatchObject({ error: "all_tiers_failed", status: null });
        expect(answer.attempts).toMatchObject([{ tier: "direct", reason: "dns_error" }]);
      }
    });
  });

  describe.concurrent("timeout_s", () => {
    test("ends a silent origin in time, with both attempts", async () => {
      const site = sites.site({ "/": () => new Promise<Page>(() => {}) });
      const began = performance.now();
      const answer = await service.fetch({ url: `${site.origin}/`, timeout_s: 5 });
      const took_ms = performance.now() - began;
      expect(answer).toMatchObject({ http: 200, error: "timeout", status: null, text: "" });
      expect(answer.attempts).toMatchObject([
        { tier: "direct", status: null, reason: "timeout" },
        { tier: "request_timeout", status: null, reason: "timeout" },
      ]);
      expect(took_ms).toBeGreaterThan(4_900);
      expect(took_ms).toBeLessThan(8_000);
    });

    test.each(["first", "second"])(
      "of the %s caller does not end the fetch for the other caller",
      async (aborted) => {
        const door = gate();
        const site = sites.site({
          "/": async () => {
            await door.opened;
            return { body: article("Slow") };
          },
        });
        const url = `${site.origin}/`;
        const ask = (hasDeadline: boolean) =>
          hasDeadline ? service.fetch({ url, timeout_s: 5 }) : service.fetch({ url });
        const first = ask(aborted === "first");
        await site.reached("/");
        const second = ask(aborted === "second");
        const [short, long] = aborted === "first" ? [first, second] : [second, first];
        expect(await short).toMatchObject({ error: "timeout" });
        door.open();
        expect(await long).toMatchObject({ error: null, title: "Slow" });
      },
    );
  });
});

/** Writes a page until the client stops reading. */
async function endlessOrigin(wrote: (bytes: number) => void) {
  const left = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    if (request.url === "/robots.txt") return void response.writeHead(404).end();
    response.writeHead(200, { "Content-Type": "text/html" });
    const piece = Buffer.alloc(65_536, "a");
    const writeMore = () => {
      while (!response.destroyed) {
        wrote(piece.length);
        if (!response.write(piece)) return;
      }
    };
    response.on("drain", writeMore);
    response.on("close", left.resolve);
    writeMore();
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, left: left.promise, close: () => void server.close() };
}
