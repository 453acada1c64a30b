/** Content by wish, as clients see it: single, in a batch, from the cache, with mistakes; the site is asked once. */
import { describe, expect, test } from "vitest";
import type { FetchBody } from "../../schemas/fetch.ts";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article } from "../harness/web.ts";

const SHOP = article("Lamps").replace(
  "</body>",
  `<ul class="lamps"><li class="lamp"><a href="/lamps/1">Storm lamp</a> <b class="price">24.50</b></li>
   <li class="lamp"><a href="/lamps/2">Deck lamp</a> <b class="price">31</b></li></ul>
   <p class="end"><a href="/imprint">Imprint</a></p></body>`,
);

describe.each(SETUPS)("the content of a page, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("is what the selectors choose: single, from the cache and in a batch, with one request to the site", async () => {
    const site = sites.site({ "/": { body: SHOP } });
    const url = `${site.origin}/`;
    expect(SHOP).toContain("Storm lamp");
    const plain = await service.fetch({ url, formats: ["links"] });
    expect(plain.text).toContain("Lamps");
    const body: FetchBody = {
      url,
      include_selectors: [".lamp", ".end"],
      exclude_selectors: [".price"],
      formats: ["links", "markdown"],
    };
    const chosen = {
      text: "Storm lamp\nDeck lamp\n\nImprint",
      title: plain.title,
      html: plain.html,
      sha256: plain.sha256,
      cached: true,
      billing_category: "fetch_cached",
      links: ["/lamps/1", "/lamps/2", "/imprint"].map((path) => ({
        url: `${site.origin}${path}`,
        text: expect.any(String),
        rel: null,
      })),
      markdown: expect.stringContaining(`[Deck lamp](${site.origin}/lamps/2)`),
    };
    expect(await service.fetch(body)).toMatchObject(chosen);
    const jobs = client(service);
    const { job_id } = (await jobs.create([body, { url }])).json;
    await jobs.finished(job_id);
    const items = await jobs.items(job_id);
    const { html: _, ...inBatch } = chosen;
    expect(items[0]!.result).toMatchObject(inBatch);
    expect(items[1]!.result).toMatchObject({ text: plain.text });
    expect(site.hits("/")).toBe(1);
  });

  test("is read by one line as Markdown, and lean with `fields`: single and in a batch", async () => {
    const site = sites.site({ "/": { body: SHOP } });
    const url = `${site.origin}/`;
    const read = (query = "", headers: Record<string, string> = {}) =>
      service.call("GET", `/v1/read/${url}${query}`, { headers });
    const { status, headers, bytes } = await read("?include_selectors=.lamp");
    expect([status, headers["content-type"]]).toEqual([200, "text/markdown; charset=utf-8"]);
    expect(bytes.toString()).toContain(`[Deck lamp](${site.origin}/lamps/2)`);
    const lean = { title: "Lamps", cached: true, error: null, request_id: expect.any(String) };
    const json = { accept: "application/json" };
    expect((await read("?fields=title,cached", json)).json).toEqual(lean);
    const body: FetchBody = { url, fields: ["title", "links"] };
    const links = expect.arrayContaining([expect.objectContaining({ url: `${url}imprint` })]);
    const one = await service.call("POST", "/v1/fetch", { body, is_lean: true });
    expect(one.json).toEqual({ title: "Lamps", links, error: null, request_id: expect.any(String) });
    const jobs = client(service);
    const { job_id } = (await jobs.create([body])).json;
    await jobs.finished(job_id);
    const page = await service.call("GET", `/v1/jobs/${job_id}?include=items`, { is_lean: true });
    expect(Object.keys(page.json.items[0].result)).toEqual(["links", "title", "error", "request_id"]);
    expect(site.hits("/")).toBe(1);
  });

  test("is chosen by selectors that are refused with their field and index", async () => {
    const body = { url: "http://any.test/", exclude_selectors: ["p", "p::before"] };
    for (const [path, request, loc] of [
      ["/v1/fetch", body, ["body"]],
      ["/v1/batch/fetch", { items: [body], idempotency_key: "s" }, ["body", "items", 0]],
    ] as const) {
      const { status, json } = await service.call("POST", path, { body: request });
      expect([status, json.detail]).toMatchObject([422, [{ loc: [...loc, "exclude_selectors", 1] }]]);
    }
  });
});
