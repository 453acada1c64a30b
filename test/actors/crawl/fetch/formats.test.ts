/** Markdown, links and images: read with the page, or derived later from its stored body; the site is asked once. */
import { expect, test } from "vitest";
import type { PageFormats, PageRecord } from "../../../../schemas/fetch.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

const LINKED = HTML.replace("<h1>Harbour</h1>", '<h1>Harbour</h1><p>A <a href="/map">map</a></p>');

type Service = Awaited<ReturnType<typeof oneService>>;

async function formatsOf({ bodies }: Service, { formats_sha256 }: PageRecord): Promise<PageFormats> {
  const pieces = await bodies.get(formats_sha256!);
  return JSON.parse(Buffer.concat(await Array.fromAsync(pieces!)).toString()) as PageFormats;
}

const LINKS = [{ url: "http://example.org/map", text: "map", rel: null }];

test("a page is read with its formats when they are wanted, and without them otherwise", async () => {
  const service = await oneService({ direct: () => answer(LINKED) });
  const plain = await running(service.clock, service.get({ url: "http://example.org/plain" }));
  expect(plain.record.formats_sha256).toBeUndefined();
  const { record } = await running(service.clock, service.get({ with_formats: true }));
  const { links, markdown } = await formatsOf(service, record);
  expect(links).toEqual(LINKS);
  expect(markdown).toContain("The boats come in at dawn");
});

test("a stored page without formats gets them from its body, once, and the site is not asked", async () => {
  let asked = 0;
  const service = await oneService({ direct: () => (asked++, answer(LINKED)) });
  await running(service.clock, service.get());
  const derived = await running(service.clock, service.get({ with_formats: true }));
  expect(derived).toMatchObject({ cached: true, error: null });
  expect((await formatsOf(service, derived.record)).links).toEqual(LINKS);
  const again = await running(service.clock, service.get({ with_formats: true }));
  expect(again.record.formats_sha256).toBe(derived.record.formats_sha256);
  expect(asked).toBe(1);
});

test("callers of one run that want formats and callers that do not ask the site once together", async () => {
  let asked = 0;
  const service = await oneService({ direct: () => (asked++, answer(LINKED)) });
  const both = Promise.all([service.get(), service.get({ with_formats: true })]);
  const [plain, formatted] = await running(service.clock, both);
  expect(plain.error).toBeNull();
  expect((await formatsOf(service, formatted.record)).links).toEqual(LINKS);
  expect(asked).toBe(1);
});

test("a document that has no formats says so, and its page is not stored again", async () => {
  const binary = () => answer("\u0000\u0001", 200, { "content-type": "application/octet-stream" });
  const service = await oneService({ direct: binary });
  await running(service.clock, service.get());
  const derived = await running(service.clock, service.get({ with_formats: true }));
  expect(derived.record.formats_sha256).toBeNull();
  const [page] = await service.documents.list("pages", { limit: 9 });
  await running(service.clock, service.get({ with_formats: true }));
  expect((await service.documents.list("pages", { limit: 9 }))[0]!.version).toBe(page!.version);
});
