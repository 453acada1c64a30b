/** The models that an OpenAI-compatible API has, for `trawl doctor`. */
import { type Egress, EgressError } from "../../../../cluster/ports/egress.ts";
import { withoutTrailingSlash } from "../../../lib/web/url.ts";
import { authorized, bodyOf, type ChatModel, jsonOf } from "./chat.ts";

const PROBE_MS = 10_000;

/** A text says why there is no answer; null: the API answers and lists none. */
export async function listOfModels(
  egress: Egress,
  { url, key }: Pick<ChatModel, "url" | "key">,
): Promise<readonly string[] | null | string> {
  try {
    const exchange = await egress.exchange({
      url: `${withoutTrailingSlash(url)}/models`,
      method: "GET",
      headers: [["Accept", "application/json"], ...authorized(key)],
      signal: AbortSignal.timeout(PROBE_MS),
    });
    if (exchange.kind === "failed") return exchange.problem;
    if (exchange.status === 200) return namesIn(await bodyOf(exchange.body));
    exchange.cancel();
    return exchange.status === 404 || exchange.status === 405 ? null : `HTTP ${exchange.status}`;
  } catch (problem) {
    if (problem instanceof EgressError) return problem.problem;
    throw problem;
  }
}

function namesIn(bytes: Buffer | null): readonly string[] | null {
  const list = jsonOf(bytes) as { readonly data?: unknown } | null;
  if (!Array.isArray(list?.data)) return null;
  return (list.data as ({ readonly id?: unknown } | null)[]).flatMap((one) =>
    typeof one?.id === "string" ? [one.id] : [],
  );
}
