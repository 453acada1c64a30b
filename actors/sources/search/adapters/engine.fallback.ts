/**
 * The fallback search API, of Brave Web Search's shape: GET with q, count, offset, freshness, search_lang, country; the
 * key as X-Subscription-Token. The provider bills every answered request.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Egress } from "../../../../cluster/ports/egress.ts";
import type { Period } from "../../../../schemas/search.ts";
import type { Engine, EngineAnswer, RawResult } from "../engine.ts";
import { FALLBACK_PAGE, requestsFor } from "../run-search.ts";
import { operatorsOf } from "../domains.ts";
import { failed, getJson, isRecord, textOf, textsOf } from "./get-json.ts";

/** The API's limits of a query. It refuses longer ones, so they are cut at a word. */
const MAX_QUERY_CHARS = 400;
const MAX_QUERY_WORDS = 50;

const PERIODS: Readonly<Record<Period, string>> = { day: "pd", week: "pw", month: "pm", year: "py" };

interface FallbackEngineDeps {
  readonly egress: Egress;
  readonly clock: Clock;
  /** The endpoint itself, for example https://api.search.brave.com/res/v1/web/search */
  readonly url: string;
  readonly key: string | null;
}

export function fallbackEngine({ egress, clock, url: configured, key }: FallbackEngineDeps): Engine {
  const { origin, pathname } = new URL(configured);
  return {
    name: `${origin}${pathname}`,
    async ask(question, signal) {
      const results: RawResult[] = [];
      const requests = requestsFor(question);
      // All pages have one length: `offset` counts pages of this length.
      const count = Math.min(FALLBACK_PAGE, question.max_results);
      let billed = 0;
      for (let page = 0; page < requests; page++) {
        const url = new URL(configured);
        const [language, region] = (question.language ?? "").split("-") as [string, string?];
        const country = question.country ?? region;
        url.searchParams.set("q", cutQuery(question.query, operatorsOf(question)));
        url.searchParams.set("count", String(count));
        if (page > 0) url.searchParams.set("offset", String(page));
        if (question.freshness !== null) url.searchParams.set("freshness", PERIODS[question.freshness]);
        if (language !== "") url.searchParams.set("search_lang", language.toLowerCase());
        if (country != null) url.searchParams.set("country", country.toUpperCase());
        url.searchParams.set("text_decorations", "false");
        url.searchParams.set("extra_snippets", "true");
        const headers: [string, string][] = key === null ? [] : [["X-Subscription-Token", key]];
        const response = await getJson(egress, url, headers, signal, clock.now());
        const read = response.kind === "json" ? readPage(response.value) : response;
        if (read.kind === "failed") {
          // The results of the first pages were paid for and are used.
          if (page === 0) return read;
          break;
        }
        billed++;
        results.push(...read.results);
        if (!read.more) break;
      }
      return { kind: "answered", results, unresponsive: [], billed };
    },
  };
}

/** The operators stand whole behind what is left of the query. */
function cutQuery(query: string, operators: string): string {
  const operator_words = operators.split(" ").length - 1;
  const most_chars = Math.max(0, MAX_QUERY_CHARS - operators.length);
  const words = query
    .split(" ")
    .slice(0, MAX_QUERY_WORDS - operator_words)
    .join(" ");
  if (words.length <= most_chars) return words + operators;
  const end = words.lastIndexOf(" ", most_chars);
  return words.slice(0, end > 0 ? end : most_chars) + operators;
}

type ResultPage =
  | { readonly kind: "answered"; readonly results: readonly RawResult[]; readonly more: boolean }
  | Extract<EngineAnswer, { kind: "failed" }>;

/** An answer without results has no `web`. An error or another API has neither `web` nor `query`. */
function readPage(value: unknown): ResultPage {
  if (!isRecord(value)) return failed("invalid_answer", "JSON that is no object");
  const { web, query } = value;
  const list = isRecord(web) ? web["results"] : undefined;
  if (web === undefined || web === null) {
    const isAnswer = value["type"] === "search" || isRecord(query);
    return isAnswer
      ? { kind: "answered", results: [], more: false }
      : failed("invalid_answer", "JSON without results of the web");
  }
  if (!Array.isArray(list)) return failed("invalid_answer", "JSON without a list of results");
  const results = list.flatMap((raw): RawResult[] => {
    const url = isRecord(raw) ? textOf(raw["url"]) : null;
    if (!isRecord(raw) || url === null) return [];
    return [
      {
        url,
        title: plainText(textOf(raw["title"])),
        snippets: [textOf(raw["description"]), ...textsOf(raw["extra_snippets"])].flatMap((text) => {
          const plain_text = plainText(text);
          return plain_text === null ? [] : [plain_text];
        }),
        engines: ["fallback_api"],
        // `age` is for people ("2 days ago"); page_age is a time.
        published: textOf(raw["page_age"]),
      },
    ];
  });
  const more = isRecord(query) && query["more_results_available"] === true;
  return { kind: "answered", results, more };
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", apos: "'", nbsp: " ",
}; // prettier-ignore

/** Texts come with <strong> and the entities of HTML, also where decorations are declined. */
function plainText(text: string | null): string | null {
  return (
    text &&
    text
      .replace(/<\/?(?:strong|b|em|i)>/gi, "")
      .replace(
        /&(amp|lt|gt|quot|#39|#x27|apos|nbsp);/gi,
        (whole, name: string) => ENTITIES[name.toLowerCase()] ?? whole,
      )
  );
}
