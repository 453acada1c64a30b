/**
 * The demo site: pages about an invented island that come with the program (ops/demo/). At first start they are stored as
 * if they had been fetched and put into the built-in index, under the address at which the gateway shows them, so that a
 * fresh clone finds something without any network. The service never fetches from itself, so their copies do not grow
 * old, and a fetch that wants none from the cache is answered `blocked_destination`.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Type } from "typebox";
import type { Node } from "../cluster/node-record.ts";
import { cacheKey, type CachedPage } from "../actors/crawl/fetch/freshness.ts";
import type { ExtractCaller, Extracted, ExtractTask } from "../actors/reading/extraction-result.ts";
import { normaliseUrl } from "../actors/lib/web/url.ts";
import type { LocalIndex } from "../actors/sources/search/adapters/engine.local.sqlite.ts";
import { bodyRefs } from "../cluster/body-refs.ts";
import type { TaskResult } from "../cluster/ports/workers.ts";
import { demoRoutes } from "../gateway/routes/demo.ts";
import { EMPTY_RECORD, type FetchRequest, type PageRecord } from "../schemas/fetch.ts";
import { IndexOfPages } from "../actors/sources/search/feature/tokens.ts";
import { feature } from "../node/feature.ts";
import { closed } from "../node/settings.ts";
import { collection } from "../cluster/collection.ts";
import { PAGES } from "../actors/crawl/fetch/collections.ts";

/** By name, in the order of names. */
function readDemo(): ReadonlyMap<string, Buffer> {
  const folder = fileURLToPath(new URL("demo", import.meta.url));
  const files = readdirSync(folder).filter((file) => file.endsWith(".html"));
  return new Map(
    files.toSorted().map((file) => [file.slice(0, -".html".length), readFileSync(join(folder, file))]),
  );
}

/** Serves the demo site where pages are indexed on this node, and stores its pages once the address is known. */
/** `edition`: the digest of the demo pages that are stored. */
const DEMO = collection<string>("demo");

export const demoFeature = feature({
  name: "demo",
  settings: {
    demo: Type.Object(
      {
        pages: Type.Enum(["on", "off"], {
          env: "TRAWL_DEMO",
          default: "on",
          description:
            "Demo pages in the built-in index, so that a first search finds something; off: stored pages only.",
        }),
      },
      closed,
    ),
  },
  collections: [DEMO],
  needs: { pages: IndexOfPages },
  provides: {},
  open: async (_, { demo }) => ({
    join({ documents, blobs, clock, extract }, { pages: { local: index } }) {
      if (!index || demo.pages === "off") return { provides: {} };
      const pages = readDemo();
      return {
        provides: {},
        routes: demoRoutes(pages),
        onAddress: (base) => seedDemo({ documents, blobs, index, clock, extract }, pages, base),
      };
    },
  }),
});

/** Practically for ever. */
const TTL_MS = 100 * 365 * 86_400_000;
const TYPE = "text/html; charset=utf-8";

/** Stores what is not stored yet under this address. Throws Fault. */
async function seedDemo(
  {
    documents,
    blobs,
    index,
    clock,
    extract,
  }: Pick<Node, "documents" | "blobs" | "clock"> & {
    readonly index: LocalIndex;
    readonly extract: (task: ExtractTask, caller: ExtractCaller) => Promise<TaskResult<Extracted>>;
  },
  pages: ReadonlyMap<string, Buffer>,
  base: string,
): Promise<void> {
  const digest = createHash("sha256").update(base);
  for (const [name, body] of pages) digest.update(`\n${name} `).update(body);
  const edition = digest.digest("hex");
  const edition_doc = await DEMO.read(documents, "edition");
  if (edition_doc?.value === edition && index.pages() >= pages.size) return;

  const refs = bodyRefs(documents);
  const urls = [...pages].map(([name]) => new URL(`${base}/demo/${name}`));
  index.unpin(urls.map(({ href }) => href));
  const stored = [...pages.values()].map(async (body, at) => {
    const url = urls[at]!;
    const now_ms = clock.now();
    const task = { bytes: body, url: url.href, content_type: TYPE, kind: "html", now_ms } as const;
    const work = await extract(task, { signal: new AbortController().signal, project: "" });
    if (work.kind === "failed") return false;
    const page = pageOf(url, body, work.value, (await blobs.put(body)).sha256, now_ms);
    const key = cacheKey(normaliseUrl(url), ORDINARY);
    await refs.retain([page.record.sha256], `page ${key}`, Infinity);
    await PAGES.update(documents, key, () => ({ value: page }));
    const { title, meta, text } = page.record;
    index.add({
      url: url.href,
      project: null,
      sha256: page.record.sha256,
      title,
      text: text ?? "",
      language: meta?.language ?? null,
      published_at: meta?.published_at ?? null,
      pinned: true,
    });
    return true;
  });
  const isComplete = (await Promise.all(stored)).every(Boolean);
  if (isComplete) await DEMO.put(documents, "edition", edition, edition_doc?.version ?? 0);
}

/** A fetch request that sets only the address. Only fields that change the page are part of the cache key. */
const ORDINARY = { render: "auto", user_agent: null, accept_language: null, country: null } as FetchRequest;

function pageOf(url: URL, body: Buffer, read: Extracted, sha256: string, now_ms: number): CachedPage {
  const record: PageRecord = {
    ...EMPTY_RECORD,
    final_url: url.href,
    status: 200,
    content_type: TYPE,
    origin_content_type: TYPE,
    headers: { "content-type": TYPE },
    // No route fetched it: the page is part of the program.
    tier: null,
    content_kind: "html",
    charset: read.charset,
    title: read.title,
    meta: read.meta,
    text: read.text,
    text_chars: read.text.length,
    text_truncated: read.text_truncated,
    sha256,
    bytes: body.length,
    body_kind: "origin",
    retrieved_at: new Date(now_ms).toISOString(),
    paywall: read.paywall,
    paywall_evidence: [...read.paywall_evidence],
    text_complete: read.paywall ? read.paywall !== "hard" : null,
  };
  return { url: url.href, record, tried: [], validated_ms: now_ms, ttl_ms: TTL_MS, is_private: false };
}
