/**
 * What a service asks beside pages, on loopback: an archive, a metasearch instance and a fallback search, a rendering service, the
 * filing system and a company source. They fail together from the start, each as the real one does, until they are mended.
 *
 *   const upstreams = await faultyUpstreams(sites, "name");
 *   start({ ...upstreams.environment });
 */
import { type Edgar, edgar } from "./edgar.ts";
import { type Gleif, gleif, leiOf } from "./gleif.ts";
import { type Arrival, article, type Page, type Web } from "./web.ts";

export interface FaultyUpstreams {
  readonly environment: Readonly<Record<string, string>>;
  /** A company that the source knows. */
  readonly lei: string;
  /** From now on each gives what it is asked for. */
  readonly mend: () => void;
  readonly close: () => Promise<void>;
}

/** How long a metasearch instance that failed is left alone: longer than two rounds of reports. */
const SUSPENDED_S = 40;
const HEADER = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
const DAY_MS = 24 * 3_600_000;
const CAPTURE = new Date(Date.now() - 40 * DAY_MS).toISOString().replaceAll(/\D/g, "").slice(0, 14);

/** `secret` is in host names, keys and answers that no client may see. */
export async function faultyUpstreams(sites: Web, secret: string): Promise<FaultyUpstreams> {
  let isMended = false;
  const broken: Page = { status: 500, body: `${secret} at 10.0.0.7` };
  const away: Page = { ...broken, status: 503, headers: { "retry-after": String(SUSPENDED_S) } };
  const json = (value: unknown): Page => ({ type: "application/json", body: JSON.stringify(value) });

  /** The archive's listing and its copies; the answers of the others by path. */
  function answer({ path }: Arrival): Page {
    const url = new URL(path, "http://any.example");
    if (url.pathname === "/robots.txt") return { status: 404 };
    if (!isMended) return url.pathname === "/search" ? away : broken;
    if (url.pathname === "/cdx/search/cdx")
      return json([HEADER, ["k", CAPTURE, url.searchParams.get("url"), "text/html", "200", "-", "1"]]);
    if (url.pathname === "/render") {
      const html = article("Rendered");
      return json({ status: 200, html, headers: {}, final_url: null, difficulty: "low" });
    }
    if (url.pathname === "/search") {
      const results = [1, 2, 3].map((n) => ({
        url: `https://result.example/${n}`,
        title: `Result ${n}`,
        engines: ["one"],
      }));
      return json({ results, unresponsive_engines: [] });
    }
    return { headers: { "memento-datetime": new Date().toUTCString() }, body: article("Kept") };
  }
  const site = sites.site({ "*": answer, "/robots.txt": { status: 404 } }, `${secret}-upstream`);

  const filings: Edgar = await edgar();
  filings.fail("bare_429");
  const source: Gleif = await gleif();
  const lei = leiOf("529900T8BM49AURSDO");
  source.companies.set(lei, { lei, name: "Alpina Maschinenbau AG" });
  source.fault = "503";

  return {
    environment: {
      TRAWL_ARCHIVE_URL: site.origin,
      TRAWL_SEARXNG_URLS: `${site.origin}/`,
      TRAWL_FALLBACK_SEARCH_URL: `${site.origin}/fallback`,
      TRAWL_FALLBACK_SEARCH_KEY: `${secret}-fallback-key`,
      TRAWL_RENDER_URL: `${site.origin}/render`,
      TRAWL_RENDER_KEY: `${secret}-render-key`,
      TRAWL_GLEIF_URL: source.url,
      ...filings.environment,
    },
    lei,
    mend() {
      isMended = true;
      filings.well();
      source.fault = "none";
    },
    async close() {
      await filings.close();
      await source.close();
    },
  };
}
