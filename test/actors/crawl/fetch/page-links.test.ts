/** Links that a crawl follows: read with the page and taken from memory, or read again from the stored body; the same either way. */
import { expect, test } from "vitest";
import { memoryBlobs } from "../../../../cluster/adapters/blobs/blobs.memory.ts";
import { linksReader, recentLinks } from "../../../../actors/crawl/fetch/page-links.ts";
import { tasks } from "../../../../actors/reading/extract.ts";
import type { ExtractTask } from "../../../../actors/reading/extraction-result.ts";
import { LINKS_MAX } from "../../../../actors/reading/markdown/links.ts";
import type { TaskFailure } from "../../../../cluster/ports/workers.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const LINKED = HTML.replace(
  "<head>",
  `<head><base href="/docs/"><meta name="robots" content="noindex"><link rel="alternate" hreflang="fr" href="/fr">`,
).replace(
  "<h1>Harbour</h1>",
  `<h1>Harbour</h1><nav><a href="map" rel="NoFollow ugc"> A map </a><a href="mailto:a@example.org">Write</a></nav><p class="part"><a href="/north">North</a></p>`,
);
const FOLLOWED = {
  links: [
    { url: "http://example.org/docs/map", rel: "nofollow ugc" },
    { url: "http://example.org/north", rel: null },
  ],
  alternates: [{ url: "http://example.org/fr", language: "fr", type: null }],
  robots: ["noindex"],
};
const READER = { signal: AbortSignal.any([]), project: "default" };

/** A service whose crawl has its links in the same process; counts what is read after the fetch. */
async function crawling(html: string = LINKED, failure?: TaskFailure) {
  const recent_links = recentLinks();
  const read = await tasks.page();
  const service = await oneService({ direct: () => answer(html) }, () => ({ recent_links }));
  const tasks_after: ExtractTask[] = [];
  const linksOf = linksReader({
    blobs: service.bodies,
    clock: service.clock,
    recent_links,
    extract: async (task) => {
      tasks_after.push(task);
      if (failure) return { kind: "failed", reason: failure, detail: "" };
      return { kind: "done", value: await read(task, () => 0) };
    },
  });
  const fetched = async (options: Parameters<typeof service.get>[0]) =>
    (await running(service.clock, service.get(options))).record;
  return { service, fetched, linksOf, tasks_after };
}

test("a page for a crawl is read once, with its links, and nothing more of it is stored", async () => {
  const { service, fetched, linksOf, tasks_after } = await crawling();
  const record = await fetched({ with_followed: true });
  expect(record.formats_sha256).toBeUndefined();
  expect(await linksOf(record, READER)).toMatchObject(FOLLOWED);
  expect(tasks_after).toEqual([]);
  // Taken once, so that they hold no memory; then the stored body has them.
  expect(await linksOf(record, READER)).toEqual(FOLLOWED);
  expect(tasks_after).toHaveLength(1);
  const stored = await running(service.clock, service.get({ with_formats: true }));
  expect(stored).toMatchObject({ cached: true, record: { formats_sha256: expect.any(String) } });
  expect(await linksOf(stored.record, READER)).toMatchObject(FOLLOWED);
  expect(tasks_after).toHaveLength(1);
});

test("a page of the cache, which was fetched without them, has its links from its body", async () => {
  const { fetched, linksOf, tasks_after } = await crawling();
  await fetched({});
  expect(await linksOf(await fetched({ with_followed: true }), READER)).toEqual(FOLLOWED);
  expect(tasks_after).toHaveLength(1);
});

test("formats of a chosen part of a page have the links of that part", async () => {
  const { fetched, linksOf, tasks_after } = await crawling();
  const reading = { include: [".part"], exclude: [], only_main_content: null };
  const whole = await fetched({ with_followed: true, with_formats: true });
  const part = await fetched({ with_followed: true, with_formats: true, reading });
  expect((await linksOf(part, READER)).links).toEqual([
    { url: "http://example.org/north", text: "North", rel: null },
  ]);
  expect(await linksOf(whole, READER)).toMatchObject(FOLLOWED);
  expect(tasks_after).toEqual([]);
});

test("links that could not be read for want of room are asked for again; of a page that ends its reader there are none", async () => {
  for (const reason of ["full", "aborted"] as const) {
    const { fetched, linksOf } = await crawling(LINKED, reason);
    await expect(linksOf(await fetched({}), READER)).rejects.toMatchObject({ code: "overloaded" });
  }
  const { fetched, linksOf } = await crawling(LINKED, "timeout");
  expect((await linksOf(await fetched({}), READER)).links).toEqual([]);
});

test("a body that is lost is a fault", async () => {
  const { fetched } = await crawling();
  const record = await fetched({});
  const linksOf = linksReader({
    blobs: memoryBlobs(),
    clock: { now: () => 0 },
    recent_links: recentLinks(),
    extract: () => Promise.reject(new Error("Nothing is left to read")),
  });
  await expect(linksOf(record, READER)).rejects.toMatchObject({ code: "body_damaged" });
});

test("links alone are those of the formats, in their order and up to their limit", async () => {
  const read = await tasks.page();
  const many = Array.from({ length: LINKS_MAX + 10 }, (_, n) => `<p><a href="?${n}">${n}</a></p>`).join("");
  for (const html of [LINKED, HTML, many, "", "<a href='//['>broken</a><a>none</a><a href=''>self</a>"]) {
    const task = {
      bytes: Buffer.from(html),
      url: "http://example.org/a",
      content_type: "text/html; charset=utf-8",
      kind: "html",
      now_ms: 0,
    } as const;
    const [formatted, beside, alone] = await Promise.all([
      read({ ...task, with_formats: true }, () => 0),
      read({ ...task, followed: "too" }, () => 0),
      read({ ...task, followed: "only" }, () => 0),
    ]);
    const { formats, ...unformatted } = formatted;
    const { links, relations } = formats!;
    expect(alone.followed).toEqual({
      links: links.map(({ url, rel }) => ({ url, rel })),
      alternates: relations!.alternates,
      robots: relations!.robots,
    });
    expect(beside).toEqual({ ...unformatted, followed: alone.followed });
  }
});
