/** Which bodies the cached pages keep: their own by their tag, the one of a page that was replaced by a reference. */
import { expect, test } from "vitest";
import {
  BODY_REF_COLLECTIONS,
  BODY_TAG_COLLECTIONS,
  isTagged,
  referencedBetween,
} from "../../../../cluster/body-refs.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

type Service = Awaited<ReturnType<typeof oneService>>;

const isReferenced = async ({ documents }: Service, sha256: string): Promise<boolean> =>
  (await referencedBetween(documents, BODY_REF_COLLECTIONS, { from: sha256, to: `${sha256}~` })).has(sha256);
const isKeptByTag = ({ documents }: Service, sha256: string): Promise<boolean> =>
  isTagged(documents, BODY_TAG_COLLECTIONS, sha256);

test("a page keeps its body with the document that it is, and no other one is stored", async () => {
  const service = await oneService({ direct: () => answer(HTML) });
  const { record } = await running(service.clock, service.get());
  expect(await isKeptByTag(service, record.sha256!)).toBe(true);
  expect(await isReferenced(service, record.sha256!)).toBe(false);
});

test("a page of a known host is one document, and its slot another", async () => {
  const service = await oneService({ direct: () => answer(HTML) });
  const { clock, documents } = service;
  await running(clock, service.get());
  documents.puts = 0;
  for (let n = 0; n < 10; n++) await running(clock, service.get({ url: `http://example.org/${n}` }));
  expect(documents.puts).toBe(20);
  await clock.advance(1_000);
  expect(documents.puts).toBe(21);
});

test("a page that gets its formats later keeps its body and them", async () => {
  const service = await oneService({ direct: () => answer(HTML) });
  await running(service.clock, service.get());
  const { record } = await running(service.clock, service.get({ with_formats: true }));
  expect(await isKeptByTag(service, record.sha256!)).toBe(true);
  expect(await isReferenced(service, record.formats_sha256!)).toBe(true);
});

test("the body of a page that another one replaced is kept until the page would have expired", async () => {
  let version = 0;
  const service = await oneService({ direct: () => answer(HTML.replace("at dawn", `at ${++version}`)) });
  const { record: first } = await running(service.clock, service.get());
  const { record: second } = await running(service.clock, service.get({ cache_ttl_s: 0 }));
  expect(second.sha256).not.toBe(first.sha256);
  expect(await isKeptByTag(service, first.sha256!)).toBe(false);
  expect(await isReferenced(service, first.sha256!)).toBe(true);
  expect(await isKeptByTag(service, second.sha256!)).toBe(true);
  const [reference] = await service.documents.list("body_refs", { limit: 10 });
  const { until_ms } = reference!.value as { until_ms: number };
  expect(until_ms).toBeGreaterThan(service.clock.now() + 7 * 24 * 60 * 60_000);
});
