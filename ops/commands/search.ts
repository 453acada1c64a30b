/** trawl search QUERY: a client of POST /v1/search. Results on standard output, provider and cost on standard error. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { RESULTS_CEILING, PERIODS, type SearchBody, type SearchResponse } from "../../schemas/search.ts";
import {
  type ClientOptions,
  clientCommand,
  withoutUndefined,
  post,
  errorOf,
  service,
  wholeNumber,
} from "./client.ts";
import { type Context, EXIT } from "./context.ts";

interface SearchOptions extends ClientOptions {
  readonly max?: number;
  readonly language?: string;
  readonly country?: string;
  readonly freshness?: SearchBody["freshness"];
  readonly cacheTtl?: number;
  readonly projectRef?: string;
  readonly quiet?: boolean;
}

export const searchCommand = (context: Context): Command =>
  clientCommand("search")
    .description("search the web through the service")
    .argument("<query...>", "what to look for")
    .option("--max <number>", `the most results, 1 to ${RESULTS_CEILING}`, maxResults)
    .option("--language <code>", "for example de or de-CH")
    .option("--country <code>", "for example CH")
    .addOption(
      new Option("--freshness <period>", "only results of this period").choices([
        ...PERIODS,
        "pd",
        "pw",
        "pm",
        "py",
      ]),
    )
    .option(
      "--cache-ttl <seconds>",
      "the oldest acceptable answer from the cache; 0: do not use the cache",
      wholeNumber,
    )
    .option("--project-ref <text>", "a text that is recorded with the usage")
    .option("--quiet", "print only errors on standard error")
    .action(async (words: string[], options: SearchOptions) => {
      const { base, key } = service(context, options);
      const body: SearchBody = {
        query: words.join(" "),
        ...withoutUndefined({
          max_results: options.max,
          language: options.language,
          country: options.country,
          freshness: options.freshness,
          cache_ttl_s: options.cacheTtl,
          project_ref: options.projectRef,
        }),
      };
      const { reply, content } = await post(`${base}/v1/search`, key, body);
      const answer = content as SearchResponse;
      if (!reply.ok || !Array.isArray(answer?.results)) throw errorOf(reply, content);
      if (options.json) context.out(JSON.stringify(answer, null, 2));
      else for (const line of resultLines(answer)) context.out(line);
      if (!options.quiet) context.err(describe(answer));
      if (answer.error !== null) context.exit(EXIT.error);
    });

/** Title, address and snippets of each result, with an empty line between. */
const resultLines = ({ results }: SearchResponse): string[] =>
  results.flatMap(({ rank, title, url, snippets, published_at }) => [
    `${rank}. ${title ?? url}${published_at === null ? "" : ` (${published_at.slice(0, 10)})`}`,
    `   ${url}`,
    ...snippets.map((snippet) => `   ${snippet}`),
    "",
  ]);

function describe(answer: SearchResponse): string {
  const { results, error, provider, cached, fallback_reason, unresponsive_engines } = answer;
  const outcome = error ?? (results.length === 0 ? "nothing found" : `${results.length} results`);
  const by = cached ? "from the cache" : provider === null ? "no provider answered" : `by ${provider}`;
  const reason = fallback_reason === null || fallback_reason === error ? "" : `, ${fallback_reason}`;
  const failed = unresponsive_engines.length === 0 ? "" : ` (${unresponsive_engines.join(", ")} failed)`;
  return `${outcome} ${by}${reason}${failed} (${answer.billing_category}, ${answer.request_id})`;
}

function maxResults(text: string): number {
  const number = wholeNumber(text);
  if (number < 1 || number > RESULTS_CEILING)
    throw new InvalidArgumentError(`Not a number from 1 to ${RESULTS_CEILING}.`);
  return number;
}
