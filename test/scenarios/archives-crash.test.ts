/** kill -9 while a crawl archives, and while an archive is downloaded: what was kept is whole, each page once, and the bytes are the same. */
import { once } from "node:events";
import { get } from "node:http";
import { describe, expect, test } from "vitest";
import { client } from "../harness/jobs-client.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { prose } from "../harness/web.ts";
import { readWarc } from "../harness/warc-reader.ts";

const PAGES = 40;

describe.each(SETUPS)("an archive after kill -9, $setup", ({ start }) => {
  const { sites, service } = scenario(start);

  test("has each page once, and goes on where a download broke", async () => {
    const links = Array.from({ length: PAGES }, (_, n) => `/page-${n}`);
    // No two bodies are the same, and none is small when it is compressed.
    const page = (name: string, hrefs: readonly string[] = []): { readonly body: string } => ({
      body: `<title>${name}</title><p>${prose(12, name)}</p>${hrefs.map((href) => `<a href="${href}">x</a>`).join(" ")}<!-- ${noise(name)} -->`,
    });
    const site = sites.site({
      "/": page("Home", links),
      ...Object.fromEntries(links.map((path) => [path, page(path)])),
    });
    const begun = await service.call("POST", "/v1/crawl", {
      body: { url: site.origin, fetch: { archive: true } },
    });
    const { job_id } = begun.json;
    await site.reached(links[PAGES / 4]!);
    await service.kill();
    await service.restart();
    const job = await client(service).finished(job_id);
    expect(job.counts).toMatchObject({ done: PAGES + 1, failed: 0 });

    const path = `/v1/jobs/${job_id}.warc.gz`;
    const began = get(`${service.url}${path}`, { headers: { Authorization: `Bearer ${service.key}` } });
    const [response] = await once(began, "response");
    const [piece] = (await once(response, "data")) as [Buffer];
    response.on("error", () => {});
    response.pause();
    await service.kill();
    await service.restart();
    const whole = await service.call("GET", path);
    expect(whole.bytes.subarray(0, piece.length).equals(piece)).toBe(true);
    const rest = await service.call("GET", path, { headers: { Range: `bytes=${piece.length}-` } });
    expect(rest.status).toBe(206);
    expect(rest.bytes.equals(whole.bytes.subarray(piece.length))).toBe(true);
    const paths = readWarc(whole.bytes)
      .filter(({ type }) => type === "response")
      .map((record) => new URL(record.field("WARC-Target-URI")!).pathname);
    expect(paths.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      ["/", "/robots.txt", ...links].toSorted((a, b) => (a < b ? -1 : 1)),
    );
  });
});

/** 20,000 characters that depend on the name alone. */
function noise(name: string): string {
  let state = Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7);
  let text = "";
  while (text.length < 20_000) {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return text;
}
