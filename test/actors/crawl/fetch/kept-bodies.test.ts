/** Which bodies the cached pages keep: their own by their tag, the one of a page that was replaced by a reference. */
import { expect, test } from "vitest";
import {
  BODY_REF_COLLECTIONS,
  BODY_TAG_COLLECTIONS,
  isTagged,
  referencedBetween,
} from "../../../../cluster/body-refs.ts";
import { openBodyGrants } from "../../../../gateway/body-access.ts";
import { answer, HTML, oneService, running } from "../../../harness/fetch-harness.ts";

import type { PageRecord } from "../../../../schemas/fetch.ts";

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

const DAY_MS = 24 * 60 * 60_000;

/** A service whose pages have the right to their bodies, and the digests of the versions of its page. */
async function withRights(headers: Record<string, string> = {}) {
  const world = { version: 1, is_unchanged: false };
  const service = await oneService(
    {
      direct: () =>
        world.is_unchanged
          ? answer("", 304, headers)
          : answer(HTML.replace("at dawn", `at ${world.version}`), 200, headers),
    },
    { keepsRights: () => true },
  );
  const { clock, documents } = service;
  const grants = openBodyGrants(service);
  const fetched = async (project: string, given = {}) =>
    running(clock, service.get({ project, cache_ttl_s: 0, ...given }));
  const isAllowed = async (project: string, sha256: string | null): Promise<boolean> =>
    (await grants.find(project, sha256!)) !== null;
  const written = async (work: () => Promise<unknown>): Promise<number> => {
    documents.puts = 0;
    await work();
    return documents.puts;
  };
  return { ...service, world, grants, fetched, isAllowed, written };
}

test("the right to the body of a page is in its document, and the answer says whose it is", async () => {
  const { documents, grants, fetched, isAllowed, written } = await withRights();
  await fetched("one");
  const url = "http://example.org/other";
  let answered: Awaited<ReturnType<typeof fetched>>;
  // Its slot, and the page.
  expect(await written(async () => (answered = await fetched("one", { url })))).toBe(2);
  const { record, granted } = answered!;
  expect(granted).toMatchObject({ project: "one", sha256: record.sha256 });
  expect(await grants.find("one", record.sha256!)).toMatchObject(grantOf(record));
  expect(await isAllowed("two", record.sha256)).toBe(false);
  expect(await documents.list("body_grants", { limit: 1 })).toEqual([]);
});

const grantOf = ({ sha256, origin_content_type, body_kind }: PageRecord) => ({
  sha256: sha256!,
  content_type: origin_content_type,
  body_kind: body_kind!,
});

test("the right outlives its page: for 31 days, while the page answers for eight at most", async () => {
  const service = await withRights();
  const { clock, documents, fetched, isAllowed } = service;
  const { record } = await fetched("one");
  await clock.advance(9 * DAY_MS);
  await documents.removeExpired("pages", clock.now(), 10);
  expect(await documents.list("pages", { limit: 2 })).toHaveLength(1);
  expect(await isAllowed("one", record.sha256)).toBe(true);
  // The page itself is gone: a caller that takes any age has it fetched anew.
  service.world.version = 2;
  const again = await fetched("one", { cache_ttl_s: 30 * 86_400 });
  expect(again.cached).toBe(false);
  await clock.advance(22 * DAY_MS);
  expect(await isAllowed("one", record.sha256)).toBe(false);
  expect(await isAllowed("one", again.record.sha256)).toBe(true);
  await documents.removeExpired("pages", clock.now() + 9 * DAY_MS + 1, 10);
  expect(await documents.list("pages", { limit: 1 })).toEqual([]);
});

test("a page that takes the place of another leaves the right to the former body as a document of its own", async () => {
  const service = await withRights();
  const { clock, documents, world, fetched, isAllowed, written } = service;
  const { record: first } = await fetched("one");
  world.version = 2;
  await clock.advance(DAY_MS / 2);
  let second: PageRecord;
  // Its slot, the right that moves, and the page: no reference besides.
  expect(await written(async () => ({ record: second } = await fetched("two")))).toBe(3);
  expect(await documents.list("body_refs", { limit: 1 })).toEqual([]);
  expect([await isAllowed("one", first.sha256), await isAllowed("two", first.sha256)]).toEqual([true, false]);
  expect([await isAllowed("one", second!.sha256), await isAllowed("two", second!.sha256)]).toEqual([
    false,
    true,
  ]);
  expect(await isReferenced(service, first.sha256!)).toBe(true);
  // It ends when it would have ended in the page.
  await clock.advance(30 * DAY_MS);
  expect(await isAllowed("one", first.sha256)).toBe(true);
  await clock.advance(DAY_MS / 2);
  expect(await isAllowed("one", first.sha256)).toBe(false);
});

test("the same bytes fetched by another project are both projects' to download", async () => {
  const { fetched, isAllowed } = await withRights();
  const { record } = await fetched("one");
  expect((await fetched("two")).record.sha256).toBe(record.sha256);
  for (const project of ["one", "two"]) expect(await isAllowed(project, record.sha256)).toBe(true);
  expect(await isAllowed("three", record.sha256)).toBe(false);
});

test("a page that its origin confirms gives its project a new right, and others keep theirs", async () => {
  const { clock, world, fetched, isAllowed } = await withRights({ etag: '"1"' });
  const { record } = await fetched("one");
  await clock.advance(2 * DAY_MS);
  world.is_unchanged = true;
  const confirmed = await fetched("two", { cache_ttl_s: 60 });
  expect([confirmed.revalidated, confirmed.granted?.project]).toEqual([true, "two"]);
  await clock.advance(29 * DAY_MS - 1_000);
  for (const project of ["one", "two"]) expect(await isAllowed(project, record.sha256)).toBe(true);
  await clock.advance(1_000);
  expect([await isAllowed("one", record.sha256), await isAllowed("two", record.sha256)]).toEqual([
    false,
    true,
  ]);
});

test("formats that are derived later leave the right, and its end, as they are", async () => {
  const { clock, documents, fetched, isAllowed } = await withRights();
  const { record } = await fetched("one");
  await fetched("one", { cache_ttl_s: null, with_formats: true });
  await documents.removeExpired("pages", clock.now() + 30 * DAY_MS, 10);
  expect(await isAllowed("one", record.sha256)).toBe(true);
  const [reference] = await documents.list("body_refs", { limit: 10 });
  const { until_ms } = reference!.value as { until_ms: number };
  expect(until_ms).toBeLessThan(clock.now() + 10 * DAY_MS);
});

test("callers of a shared run are told of their own project's right only", async () => {
  const { clock, get } = await withRights();
  const urls = ["one", "two", "one"].map((project) =>
    get({ project, fetch_id: `${project} ${Math.random()}` }),
  );
  const answers = await running(clock, Promise.all(urls));
  expect(answers.map(({ granted }) => granted?.project)).toEqual(["one", undefined, "one"]);
});

test("when an origin's page becomes private, the right to the shared one stays", async () => {
  const headers: Record<string, string> = {};
  const { clock, documents, world, fetched, isAllowed } = await withRights(headers);
  const { record } = await fetched("one");
  await clock.advance(2 * DAY_MS);
  headers["cache-control"] = "private";
  world.version = 2;
  await fetched("two");
  expect(
    (await documents.list("pages", { limit: 9 })).map(({ value }) => "private_copies" in (value as object)),
  ).toContain(true);
  expect(await isAllowed("one", record.sha256)).toBe(true);
});
