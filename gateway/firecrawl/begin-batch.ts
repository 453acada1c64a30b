/** Many pages as a job: what their batches and extracts begin. */
import { badRequest } from "./errors.ts";
import { contentOf, type TheirCall } from "./operation.ts";
import type { Ours } from "./option.ts";

const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "");

/** `wishes`: how each page is fetched; `job`: fields of the whole job. `invalid`: addresses that are none, which are left out. Throws Refused. */
export async function beginBatch(
  { ask, head, request_id }: TheirCall,
  urls: readonly string[],
  wishes: Ours,
  ignores_invalid: boolean,
  job: Ours = {},
): Promise<{
  readonly job_id: string;
  readonly webhook_secret?: string;
  readonly invalid: readonly string[];
}> {
  const invalid = urls.filter((url) => !isWebAddress(url));
  if (invalid.length > 0 && (!ignores_invalid || invalid.length === urls.length))
    throw badRequest(`Bad Request: urls: ${invalid.slice(0, 10).join(", ")} is no http(s) address`);
  const items = urls.filter(isWebAddress).map((url) => ({ url, ...wishes }));
  const idempotency_key = keyOf(head).idempotency_key ?? request_id;
  const { job_id, webhook_secret } = await contentOf(ask, {
    method: "POST",
    path: "/v1/batch/fetch",
    body: { items, idempotency_key, ...job },
  });
  return { job_id, webhook_secret, invalid };
}

export function keyOf({ headers }: TheirCall["head"]): { readonly idempotency_key?: string } {
  const given = headers.get("x-idempotency-key");
  return given === undefined ? {} : { idempotency_key: given };
}
