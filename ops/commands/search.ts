/** trawl search QUERY: a client of POST /v1/search. Results on standard output, provider and cost on standard error. */
import type { Command } from "commander";
import { SearchBody, type SearchResponse } from "../../schemas/search.ts";
import { type ClientOptions, clientCommand, post, errorOf, service } from "./client.ts";
import { systemTerminal } from "../terminal.ts";
import { type Context, EXIT, type Paint } from "./context.ts";
import { linesOf } from "./streams.ts";
import { fieldFlags, givenFields, withFlags } from "./field-flags.ts";

const FLAGS = fieldFlags(SearchBody, ["query"]);

export const searchCommand = (context: Context): Command =>
  withFlags(
    clientCommand("search")
      .description("search the web through the service")
      .argument("<query...>", "what to look for; - for standard input"),
    FLAGS,
  )
    .option("--quiet", "print only errors on standard error")
    .action(async (words: string[], options: ClientOptions & { readonly quiet?: boolean }) => {
      const { base, key } = service(context, options);
      const given = givenFields(FLAGS, options as unknown as Readonly<Record<string, unknown>>);
      const query = (await linesOf(words, context.terminal?.() ?? systemTerminal())).join(" ");
      const body: SearchBody = { query, ...given };
      const { reply, content } = await post(`${base}/v1/search`, key, body);
      const answer = content as SearchResponse;
      if (!reply.ok || !Array.isArray(answer?.results)) throw errorOf(reply, content);
      if (options.json) context.out(JSON.stringify(answer, null, 2));
      else for (const line of resultLines(answer, context.paint)) context.out(line);
      if (!options.quiet) context.err(describe(answer));
      if (answer.error !== null) context.exit(EXIT.error);
    });

/** Title, address and snippets of each result, with an empty line between. */
const resultLines = ({ results }: SearchResponse, paint: Paint): string[] =>
  results.flatMap(({ rank, title, url, snippets, published_at }) => [
    `${rank}. ${paint("bold", title ?? url)}${published_at === null ? "" : ` (${published_at.slice(0, 10)})`}`,
    `   ${paint("cyan", url)}`,
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
