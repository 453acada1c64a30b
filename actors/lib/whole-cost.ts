/** The cost of an answer, when the run that gave it was not the first. */
import { fromMicros, toMicros } from "../../schemas/accounts.ts";

/**
 * A run whose node died after it had paid is repeated on another node, which may find the page stored or get the answer for nothing:
 * what the first run cost is this request's all the same. Throws Fault.
 */
export async function withWholeCost<Answer extends { readonly cost_usd: string }>(
  spentBy: (request_id: string) => Promise<number>,
  request_id: string,
  answer: Answer,
): Promise<Answer> {
  const spent_micros = await spentBy(request_id);
  const told_micros = toMicros(answer.cost_usd) ?? 0;
  return spent_micros > told_micros ? { ...answer, cost_usd: fromMicros(spent_micros) } : answer;
}
