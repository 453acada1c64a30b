/**
 * Upstreams that a service asks beside pages, on loopback: an archive, three metasearch instances and a fallback search, a rendering service, the
 * filing system and two company sources. Each fails when it is told to, as the real one does, until all are mended.
 *
 *   const upstreams = await faultyUpstreams(sites, "name");
 *   start({ ...upstreams.environment });
 *   upstreams.fail("archive", "filings");
 */
import { readFileSync } from "node:fs";
import { type Edgar, edgar } from "./edgar.ts";
import { type Gleif, gleif, leiOf } from "./gleif.ts";
import { type Arrival, article, type Page, type Web } from "./web.ts";

const UPSTREAMS = [
  "archive",
  "rendering",
  "search",
  "filings",
  "gleif",
  "french_companies",
  /** The French source answers, and leaves out fields that it had before. */
  "french_fields",
] as const;
type Upstream = (typeof UPSTREAMS)[number];

export interface FaultyUpstreams {
  readonly environment: Readonly<Record<string, string>>;
  /** A company that GLEIF knows. */
  readonly lei: string;
  /** Filers with facts. */
  readonly ciks: readonly string[];
  readonly fail: (...names: readonly Upstream[]) => void;
  /** From now on each gives what it is asked for. */
  readonly mend: () => void;
  readonly close: () => Promise<void>;
}

/**
 * How long a metasearch instance that failed is left alone, by its name: for longer than a round of reports of the status, and the others for
 * a round longer than the first.
 */
const SUSPENDED_S = { one: 8, two: 16, three: 16 } as const;
const HEADER = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"];
const DAY_MS = 24 * 3_600_000;
const CAPTURE = new Date(Date.now() - 40 * DAY_MS).toISOString().replaceAll(/\D/g, "").slice(0, 14);
const FILERS = 300;
const FACTS = "/api/xbrl/companyfacts";
const SOME_FACTS = new URL(`../fixtures/edgar/data.sec.gov${FACTS}/CIK0009000001.json`, import.meta.url);

/** A French company number with its check digit (Luhn). */
export function sirenOf(n: number): string {
  const digits = String(51_000_000 + n);
  const sum = digits.split("").reduce((total, digit, at) => {
    const weighted = Number(digit) * (at % 2 === 1 ? 2 : 1);
    return total + (weighted > 9 ? weighted - 9 : weighted);
  }, 0);
  return digits + String((10 - (sum % 10)) % 10);
}

const json = (value: unknown): Page => ({ type: "application/json", body: JSON.stringify(value) });

/** `secret` is in host names, keys and answers that no client may see. */
export async function faultyUpstreams(sites: Web, secret: string): Promise<FaultyUpstreams> {
  const failing = new Set<Upstream>();
  const broken: Page = { status: 500, body: `${secret} at 10.0.0.7` };

  function archive(url: URL): Page {
    if (failing.has("archive")) return broken;
    if (url.pathname === "/cdx/search/cdx")
      return json([HEADER, ["k", CAPTURE, url.searchParams.get("url"), "text/html", "200", "-", "1"]]);
    return { headers: { "memento-datetime": new Date().toUTCString() }, body: article("Kept") };
  }

  function rendered(): Page {
    if (failing.has("rendering")) return broken;
    return json({
      status: 200,
      html: article("Rendered"),
      headers: {},
      final_url: null,
      difficulty: "low",
    });
  }

  function instance(name: keyof typeof SUSPENDED_S): Page {
    if (failing.has("search"))
      return { ...broken, status: 503, headers: { "retry-after": String(SUSPENDED_S[name]) } };
    const results = [1, 2, 3, 4, 5].map((n) => ({
      url: `https://result-${n}.example/`,
      title: `Result ${n}`,
      engines: ["one"],
    }));
    return json({ results, unresponsive_engines: [] });
  }

  /** It knows no company. */
  function french(): Page {
    if (failing.has("french_companies")) return { body: `<title>${secret}</title>` };
    if (failing.has("french_fields")) return json({ results: [] });
    return json({ results: [], total_results: 0, page: 1, per_page: 25, total_pages: 0 });
  }

  function answer({ path }: Arrival): Page {
    const url = new URL(path, "http://any.example");
    const [, first = "", second] = url.pathname.split("/");
    if (first === "render") return rendered();
    if (first === "fallback") return broken;
    if (first in SUSPENDED_S && second === "search") return instance(first as keyof typeof SUSPENDED_S);
    if (first === "french") return french();
    return archive(url);
  }
  const { origin } = sites.site({ "*": answer, "/robots.txt": { status: 404 } }, `${secret}-upstream`);

  const filings: Edgar = await edgar();
  const ciks = Array.from({ length: FILERS }, (_, n) => String(9_100_000 + n));
  const facts = readFileSync(SOME_FACTS);
  for (const cik of ciks) filings.serve("data", `${FACTS}/CIK${cik.padStart(10, "0")}.json`, facts);
  const source: Gleif = await gleif();
  const lei = leiOf("529900T8BM49AURSDO");
  source.companies.set(lei, { lei, name: "Alpina Maschinenbau AG" });
  const canary = leiOf("5493001KJTIIGC8Y1R");
  source.companies.set(canary, { lei: canary, name: "Canary Inc.", country: "US-DE" });

  return {
    environment: {
      TRAWL_ARCHIVE_URL: origin,
      TRAWL_SEARXNG_URLS: Object.keys(SUSPENDED_S)
        .map((name) => `${origin}/${name}/`)
        .join(","),
      TRAWL_FALLBACK_SEARCH_URL: `${origin}/fallback`,
      TRAWL_FALLBACK_SEARCH_KEY: `${secret}-fallback-key`,
      TRAWL_RENDER_URL: `${origin}/render`,
      TRAWL_RENDER_KEY: `${secret}-render-key`,
      TRAWL_GLEIF_URL: source.url,
      TRAWL_RECHERCHE_ENTREPRISES_URL: `${origin}/french`,
      ...filings.environment,
    },
    lei,
    ciks,
    fail(...names) {
      for (const name of names) failing.add(name);
      if (names.includes("filings")) filings.fail("bare_429");
      if (names.includes("gleif")) source.fault = "503";
    },
    mend() {
      failing.clear();
      filings.well();
      source.fault = "none";
    },
    async close() {
      await filings.close();
      await source.close();
    },
  };
}
