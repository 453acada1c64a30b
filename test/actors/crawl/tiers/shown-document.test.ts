/** Parts that a page shows beyond its own document, in a real browser: open shadow roots with their slots, and frames of its site. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TransportRequest } from "../../../../actors/lib/web/transport.ts";
import { type BrowserSetup, describeOneBrowser } from "../../../harness/browser-harness.ts";
import { article } from "../../../harness/web.ts";

/** A page of elements that draw themselves: the document has their names alone. */
const COMPONENTS = `<!doctype html><title>Shop</title><shop-page><b slot=price>9 <i>francs</i></b><u>in no slot</u></shop-page>
<script>
  customElements.define("shop-page", class extends HTMLElement {
    constructor() {
      super().attachShadow({ mode: "open" }).innerHTML =
        "<style>:host { display: block }</style><h1>A &lt;lamp&gt; &amp; more</h1><p>Costs <slot name=price></slot>" +
        "<slot name=none>, no more</slot></p><shop-note></shop-note>";
    }
  });
  customElements.define("shop-note", class extends HTMLElement {
    connectedCallback() {
      const root = this.attachShadow({ mode: "open" });
      root.innerHTML = "<a href='/note?a=1&amp;b=2'>Note within</a>";
    }
  });
</script>`;

describeOneBrowser("a page as it shows itself", (openSetup) => {
  let it: BrowserSetup;
  beforeAll(async () => (it = await openSetup()));
  afterAll(() => it.close());
  const rendered = async (url: string, over: Partial<TransportRequest> = {}) => {
    const answer = await it.fetch(url, over);
    if (answer.kind !== "page") throw new Error(JSON.stringify(answer));
    const html = answer.body.toString();
    return { html, body: html.slice(html.indexOf("<body")), detail: answer.detail ?? null };
  };

  test("has what open shadow roots show in their elements, with slots filled", async () => {
    const site = it.web.site({ "/": { body: COMPONENTS } });
    const { html } = await rendered(`${site.origin}/`);
    expect(html).toContain(
      `<shop-page><div><h1>A &lt;lamp&gt; &amp; more</h1><p>Costs <b slot="price">9 <i>francs</i></b>, no more</p>` +
        `<shop-note><a href="/note?a=1&amp;b=2">Note within</a></shop-note></div></shop-page>`,
    );
    expect(html).toMatch(/^<!DOCTYPE html><html><head><title>Shop<\/title>/);
    expect(html).not.toContain("in no slot");
  });

  test("has what declared shadow roots show, and nothing of closed ones", async () => {
    const declared = (mode: string, text: string) =>
      `<div><template shadowrootmode=${mode}><p>${text}</p></template></div>`;
    const body = `<title>D</title>${declared("open", "seen")}${declared("closed", "unseen")}<template><p>inert</p></template>`;
    const site = it.web.site({ "/": { body } });
    const page = await rendered(`${site.origin}/`);
    expect(page.body).toBe(
      "<body><div><div><p>seen</p></div></div><div></div><template><p>inert</p></template></body></html>",
    );
  });

  test("is as the browser writes it where there is neither, raw texts included", async () => {
    const body = `<title>Plain</title><noscript><img src=/a></noscript><style>a > b {}</style><p title='"&amp;'>A &amp; B&nbsp;<br>`;
    const site = it.web.site({ "/": { body } });
    expect((await rendered(`${site.origin}/`)).html).toBe(
      `<html><head><title>Plain</title><noscript><img src=/a></noscript><style>a > b {}</style></head>` +
        `<body><p title="&quot;&amp;">A &amp; B&nbsp;<br></p></body></html>`,
    );
  });

  test("has what frames of its site show, behind them, with addresses resolved", async () => {
    const other = it.web.site({ "/": { body: article("Stranger") } });
    const notes = it.web.site({ "/": { body: "<p>a note of the same site" } }, "notes.lamps.test.");
    const pages = {
      "/": {
        body: `<title>Frames</title><p>before</p><iframe src=/deep/inner></iframe><p>after</p><iframe src="${notes.origin}/"></iframe>
          <iframe srcdoc="<p>written in place</p>"></iframe><iframe src="${other.origin}/"></iframe>
          <iframe src=/deep/hidden style="display:none"></iframe><iframe src=/deep/hidden width=1 height=1></iframe>`,
      },
      "/deep/inner": {
        body: `<title>Inner</title><p>inside</p><a href=next>Next</a><img src="a.png" srcset="b.png 2x">
          <a-note></a-note><script>document.querySelector("a-note").attachShadow({ mode: "open" }).textContent = "shadowed"</script>
          <iframe src=/third></iframe>`,
      },
      "/third": { body: `<p>third level</p>` },
      "/deep/hidden": { body: "<p>hidden</p>" },
    };
    const site = it.web.site(pages, "www.lamps.test.");
    it.robots_asked.length = 0;
    const { body, detail } = await rendered(`${site.origin}/`);
    expect(it.robots_asked).toEqual([
      `${site.origin}/deep/inner`,
      `${site.origin}/third`,
      `${notes.origin}/`,
    ]);
    expect(body).toMatch(
      new RegExp(
        `<p>before</p><iframe src="/deep/inner"></iframe><div data-frame="${site.origin}/deep/inner"><p>inside</p>` +
          `<a href="${site.origin}/deep/next">Next</a><img src="${site.origin}/deep/a.png">[^]*` +
          `shadowed[^]*<iframe src="/third"></iframe><div data-frame="${site.origin}/third"><p>third level</p></div>[^]*</div><p>after</p>`,
      ),
    );
    expect(body).toContain(`<div data-frame="${notes.origin}/"><p>a note of the same site</p></div>`);
    expect(body).toContain('</iframe><div data-frame="about:srcdoc"><p>written in place</p></div>');
    expect(body).not.toMatch(/Stranger<|<p>hidden/);
    expect(detail).toBe("Frames that were not read: 1 of another site");
  });

  test("has the frames of a frame set", async () => {
    const site = it.web.site({
      "/": { body: "<title>Set</title><frameset cols='50%,50%'><frame src=/a><frame src=/b></frameset>" },
      "/a": { body: "<p>left" },
      "/b": { body: "<p>right" },
    });
    expect((await rendered(`${site.origin}/`)).html).toMatch(/<p>left<\/p>[^]*<p>right<\/p>/);
  });

  test("leaves out what robots.txt disallows, what is too deep, and what does not fit, and says so", async () => {
    const frame = (path: string) => `<iframe src="${path}"></iframe>`;
    const site = it.web.site({
      "/": { body: `<title>F</title>${frame("/private")}${frame("/1")}${frame("/large")}` },
      "/private": { body: "<p>not for robots" },
      "/1": { body: `<p>one${frame("/2")}` },
      "/2": { body: `<p>two${frame("/3")}` },
      "/3": { body: `<p>three${frame("/4")}` },
      "/4": { body: "<p>four" },
      "/large": { body: `<p>large ${"text ".repeat(4_000)}` },
    });
    const asked: string[] = [];
    const { html, detail } = await rendered(`${site.origin}/`, {
      max_bytes: 10_000,
      admit: async (url, options) => {
        const isRefused = options?.is_robots_only && new URL(url).pathname === "/private";
        if (options?.is_robots_only) asked.push(new URL(url).pathname);
        return isRefused
          ? {
              kind: "refused",
              refusal: {
                error: "robots_disallowed",
                step: "robots",
                reason: "x",
                retry_after_s: null,
                detail: null,
              },
            }
          : { kind: "admitted", beforeSend: () => true, onSent: () => {}, release: () => {} };
      },
    });
    expect(html.match(/<p>\w+/g)).toEqual(["<p>one", "<p>two", "<p>three"]);
    expect(detail).toBe(
      "Frames that were not read: 1 that robots.txt does not allow, or could not be asked for; 1 within three others; 1 larger than what is left of max_bytes",
    );
    expect(asked.toSorted()).toEqual(["/1", "/2", "/3", "/large", "/private"]);
  });

  test("is ready when the text of its shadow roots is there, and finds an element that is waited for in one", async () => {
    const site = it.web.site({
      "/": {
        body: `<title>Late</title><late-text></late-text><script>setTimeout(() => {
          document.querySelector("late-text").attachShadow({ mode: "open" }).innerHTML = "<p id=late>${"word ".repeat(100)}</p>";
        }, 700)</script>`,
      },
    });
    const slow = it.withLimits({ settle_ms: 60_000, wait_for_ms: 60_000, page_ms: 120_000 });
    for (const over of [{ min_text_chars: 200 }, { wait_for: { selector: "#late", ms: 0 } }]) {
      const answer = await slow.fetch(`${site.origin}/`, over);
      expect(answer).toMatchObject({ kind: "page", status: 200 });
      expect(answer.kind === "page" && answer.body.toString()).toContain('<p id="late">word');
      expect(answer.ms).toBeLessThan(30_000);
    }
  });
});
