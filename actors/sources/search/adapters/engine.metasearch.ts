/**
 * A metasearch instance: the JSON API of SearXNG and its ancestor searx, which name results and failed engines alike.
 * An instance answers 403 until its operator lists `json` under search.formats.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import type { Engine, EngineAnswer, RawResult, Unresponsive } from "../engine.ts";
import { hasDomains, isOfDomains, operatorsOf } from "../domains.ts";
import { failed, getJson, isRecord, textOf, textsOf } from "./get-json.ts";

/** An instance gives 10 to 40 results a page; further pages are asked only when the request wants more, up to MAX_PAGES. */
const PAGE = 20;
const MAX_PAGES = 10;
/** Where an engine may not know the operators of hosts, so that the filter leaves few of its results. */
const FILTERED_PAGES = 3;
const MAX_RESULTS = 300;

interface MetasearchEngineDeps {
  readonly egress: Egress;
  readonly clock: Clock;
  /** As it is configured: with or without a path, a user part for basic authentication. */
  readonly url: string;
}

/** An instance's name in logs and health: its address without the user part. */
export function instanceName(configured: string): string {
  const url = new URL(configured);
  return `${url.origin}${url.pathname}`.replace(/\/(?:search\/?)?$/, "");
}

export function metasearchEngine({ egress, clock, url: configured }: MetasearchEngineDeps): Engine {
  const name = instanceName(configured);
  const headers: [string, string][] = [
    ["User-Agent", "trawl"],
    // Instances translate the names of failures; the English names are parsed here.
    ["Accept-Language", "en"],
  ];
  const { username, password } = new URL(configured);
  if (username !== "" || password !== "") {
    const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    headers.push(["Authorization", `Basic ${Buffer.from(user).toString("base64")}`]);
  }

  return {
    name,
    async ask(question, signal) {
      const results: RawResult[] = [];
      const unresponsive = new Map<string, Unresponsive>();
      const isFiltered = hasDomains(question);
      const needed = Math.ceil(question.max_results / PAGE);
      const pages = Math.min(MAX_PAGES, isFiltered ? Math.max(FILTERED_PAGES, needed) : needed);
      let matching = 0;
      for (let page = 1; page <= pages; page++) {
        const url = new URL(`${name}/search`);
        url.searchParams.set("q", question.query + operatorsOf(question));
        url.searchParams.set("format", "json");
        const language = languageOf(question.language, question.country);
        if (language !== null) url.searchParams.set("language", language);
        if (question.freshness !== null) url.searchParams.set("time_range", question.freshness);
        if (page > 1) url.searchParams.set("pageno", String(page));
        const response = await getJson(egress, url, headers, signal, clock.now());
        const read = response.kind === "json" ? readPage(response.value) : response;
        if (read.kind === "failed") {
          // A failure of a later page does not discard the first.
          if (page === 1) return withHint(read);
          break;
        }
        for (const each of read.unresponsive)
          unresponsive.set(
            each.engine,
            unresponsive.get(each.engine)?.captcha ? { ...each, captcha: true } : each,
          );
        results.push(...read.results);
        matching += read.results.filter(({ url: found }) => isOfDomains(found, question)).length;
        const isEnough = isFiltered && page >= needed && matching >= question.max_results;
        if (read.results.length === 0 || results.length >= MAX_RESULTS || isEnough) break;
      }
      return {
        kind: "answered",
        results: results.slice(0, MAX_RESULTS),
        unresponsive: [...unresponsive.values()],
        billed: 0,
      };
    },
  };
}

/**
 * de and CH make de-CH. SearXNG knows no country without a language: alone it stands with the one that Unicode's likely subtags name for
 * it, so CH is de-CH, too.
 */
function languageOf(language: string | null, country: string | null): string | null {
  const asked = language ?? (country === null ? null : likelyLanguage(country));
  if (asked === null) return null;
  const [tongue, region] = asked.split("-") as [string, string?];
  const place = region ?? country;
  return place == null ? tongue.toLowerCase() : `${tongue.toLowerCase()}-${place.toUpperCase()}`;
}

/** Null where none is named. */
function likelyLanguage(country: string): string | null {
  const { language } = new Intl.Locale(`und-${country}`).maximize();
  return language === "und" ? null : language;
}

const withHint = (read: Extract<EngineAnswer, { kind: "failed" }>): EngineAnswer =>
  read.reason === "http_403"
    ? { ...read, detail: `${read.detail}: JSON may not be enabled (search.formats in its settings.yml)` }
    : read;

/** Reads a page of results; JSON of another shape is `invalid_answer`. */
function readPage(value: unknown): EngineAnswer {
  if (!isRecord(value) || !Array.isArray(value["results"]))
    return failed("invalid_answer", "JSON without a list of results");
  const results = value["results"].flatMap((raw): RawResult[] => {
    if (!isRecord(raw)) return [];
    const url = textOf(raw["url"]);
    if (url === null) return [];
    const snippet = textOf(raw["content"]);
    const engines = textsOf(raw["engines"]);
    const engine = textOf(raw["engine"]);
    return [
      {
        url,
        title: textOf(raw["title"]),
        snippets: snippet === null ? [] : [snippet],
        engines: engines.length > 0 || engine === null ? engines : [engine],
        // searx writes publishedDate for people ("2 hours ago") and pubdate for machines; SearXNG has ISO 8601 in the first.
        published: textOf(raw["pubdate"]) ?? textOf(raw["publishedDate"]),
      },
    ];
  });
  const failures = Array.isArray(value["unresponsive_engines"]) ? value["unresponsive_engines"] : [];
  return {
    kind: "answered",
    results,
    unresponsive: failures.slice(0, 100).flatMap((each): Unresponsive[] => {
      // [name, why]; some versions say the name alone.
      const [engine, why] = Array.isArray(each) ? each : [each, null];
      const engine_name = textOf(engine);
      return engine_name === null
        ? []
        : [{ engine: engine_name.slice(0, 60), captcha: /captcha/i.test(textOf(why) ?? "") }];
    }),
    billed: 0,
  };
}
