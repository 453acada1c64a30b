/**
 * The pages of the first results of a search. Each is a fetch in the name of the search's caller, with the same quota, limits,
 * politeness and bill as one that came by itself; one host's follow each other. What could not be had keeps its reason.
 */
import { type Clock, sleep } from "../../../../cluster/ports/clock.ts";
import { askingWithin } from "../../../../gateway/asking-within.ts";
import { categoryRefused, quotaRefused } from "../../../../gateway/authenticate.ts";
import type { Reply } from "../../../../gateway/http.ts";
import type { ApiAnswer } from "../../../../gateway/mcp/api.ts";
import type { Call } from "../../../../gateway/route.ts";
import { WAIT_MS } from "../../../../gateway/with-deadline.ts";
import { type FetchResponse, MIN_TIMEOUT_S } from "../../../../schemas/fetch.ts";
import {
  CONTENT_REFUSALS,
  type ContentRefusal,
  CONTENTS_DEFAULT,
  type SearchBody,
  type SearchResult,
  type ShownResult,
} from "../../../../schemas/search.ts";

type SearchCall = Call<null, null, SearchBody>;
type Content = FetchResponse | ContentRefusal;

/** For all pages of a search together. */
const CONTENTS_MS = 60_000;
const TIMEOUT_S = 30;
/** A rate that is used up is free again within this time; a quota is not. */
const MAX_RATE_WAIT_S = 2;

/** Before the search, which would have been made for nothing: the key may fetch no page, or has none left. */
export function contentsRefused({ body, caller, now_ms }: SearchCall): Reply | null {
  if (body.contents == null) return null;
  const isUsedUp = caller.meter.quota.remaining(now_ms).fetch === 0;
  return categoryRefused(caller, "fetch") ?? (isUsedUp ? quotaRefused(caller, "fetch", now_ms) : null);
}

/** Without `contents` in the body the results as they are. */
export async function withContents(
  call: SearchCall,
  results: readonly SearchResult[],
  clock: Clock,
): Promise<ShownResult[]> {
  const { contents } = call.body;
  if (contents == null) return [...results];
  const deadline_ms = Math.min(clock.now() + CONTENTS_MS, call.now_ms + WAIT_MS);
  const wanted = results.slice(0, contents.results ?? CONTENTS_DEFAULT);
  const byHost = Map.groupBy(wanted, ({ url }) => URL.parse(url)?.hostname ?? url);
  const content = new Map<SearchResult, Content>();
  await Promise.all(
    [...byHost.values()].map(async (ofHost) => {
      for (const result of ofHost) content.set(result, await contentOf(call, result.url, deadline_ms, clock));
    }),
  );
  return results.map((result) => ({ ...result, content: content.get(result) ?? null }));
}

async function contentOf(call: SearchCall, url: string, deadline_ms: number, clock: Clock): Promise<Content> {
  const { project_ref = null, contents } = call.body;
  const options = contents?.fetch ?? {};
  const ask = askingWithin(call.askWithin);
  for (;;) {
    const left_s = Math.floor((deadline_ms - clock.now()) / 1000);
    if (left_s < MIN_TIMEOUT_S)
      return { url, error: "timeout", error_detail: "The time for the pages of this search was over" };
    const timeout_s = Math.min(options.timeout_s ?? TIMEOUT_S, left_s);
    const body = { include_html: false, ...options, url, timeout_s, project_ref };
    const answer = await ask({ method: "POST", path: "/v1/fetch", body });
    const wait_s = answer.status === 429 ? answer.retry_after_s : null;
    if (wait_s === null || wait_s > MAX_RATE_WAIT_S) return told(url, answer);
    await sleep(clock, wait_s * 1000);
  }
}

/** The detail of a refusal: an error's code and a sentence, or a sentence alone. */
type Detail = string | { readonly error?: string; readonly message?: string; readonly hint?: string };

/** The answer of a fetch, also that of a busy domain; else the refusal. */
function told(url: string, { status, content }: ApiAnswer): Content {
  const { detail, ...answer } = content as FetchResponse & { readonly detail?: Detail };
  if ("attempts" in answer || status === 200) return answer;
  const { error, message, hint } = typeof detail === "object" ? detail : { message: detail };
  const code = CONTENT_REFUSALS.find((word) => word === error) ?? CODES[status] ?? "refused";
  return {
    url,
    error: code,
    error_detail: message ?? hint ?? `The fetch was refused: ${error ?? status}`,
  };
}

/** Refusals that are a sentence alone. */
const CODES: Readonly<Record<number, ContentRefusal["error"]>> = {
  429: "key_rate_limited",
  503: "unavailable",
  504: "timeout",
};
