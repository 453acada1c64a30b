/** trawl search QUERY: a client of POST /v1/search. Results on standard output, how they came about on standard error. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { RESULTS_CEILING, PERIODS, type SearchBody, type SearchResponse } from "../../schemas/search.ts";
import { type Asking, clientCommand, given, post, refusal, service, whole } from "./client.ts";
import { type Context, EXIT } from "./context.ts";

interface Wishes extends Asking {
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
    .option("--max <number>", `at most so many results, 1 to ${RESULTS_CEILING}`, most)
    .option("--language <code>", "as de or de-CH")
    .option("--country <code>", "as CH")
    .addOption(
      new Option("--freshness <period>", "only what is that recent").choices([
        ...PERIODS,
        "pd",
        "pw",
        "pm",
        "py",
      ]),
    )
    .option("--cache-ttl <seconds>", "oldest answer from the cache; 0: none", whole)
    .option("--project-ref <text>", "noted with the usage")
    .option("--quiet", "nothing on standard error but mistakes")
    .action(async (words: string[], wishes: Wishes) => {
      const { base, key } = service(context, wishes);
      const body: SearchBody = {
        query: words.join(" "),
        ...given({
          max_results: wishes.max,
          language: wishes.language,
          country: wishes.country,
          freshness: wishes.freshness,
          cache_ttl_s: wishes.cacheTtl,
          project_ref: wishes.projectRef,
        }),
      };
      const { reply, content } = await post(`${base}/v1/search`, key, body);
      const answer = content as SearchResponse;
      if (!reply.ok || !Array.isArray(answer?.results)) throw refusal(reply, content);
      if (wishes.json) context.out(JSON.stringify(answer, null, 2));
      else for (const line of listed(answer)) context.out(line);
      if (!wishes.quiet) context.err(told(answer));
      if (answer.error !== null) context.exit(EXIT.error);
    });

/** Title, address and what was said of it, an empty line between. */
const listed = ({ results }: SearchResponse): string[] =>
  results.flatMap(({ rank, title, url, snippets, published_at }) => [
    `${rank}. ${title ?? url}${published_at === null ? "" : ` (${published_at.slice(0, 10)})`}`,
    `   ${url}`,
    ...snippets.map((snippet) => `   ${snippet}`),
    "",
  ]);

function told(answer: SearchResponse): string {
  const { results, error, provider, cached, fallback_reason, unresponsive_engines } = answer;
  const outcome = error ?? (results.length === 0 ? "nothing found" : `${results.length} results`);
  const by = cached ? "from the cache" : provider === null ? "nobody could answer" : `by ${provider}`;
  const because = fallback_reason === null || fallback_reason === error ? "" : `, ${fallback_reason}`;
  const failed = unresponsive_engines.length === 0 ? "" : ` (${unresponsive_engines.join(", ")} failed)`;
  return `${outcome} ${by}${because}${failed} (${answer.billing_category}, ${answer.request_id})`;
}

function most(text: string): number {
  const number = whole(text);
  if (number < 1 || number > RESULTS_CEILING)
    throw new InvalidArgumentError(`Not a number from 1 to ${RESULTS_CEILING}.`);
  return number;
}
