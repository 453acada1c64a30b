/** Their option `webhook`, of crawls and of monitors. */
import { notServed } from "./errors.ts";
import type { Ours } from "./option.ts";

/** Throws Refused. */
export function webhookOf({
  headers = {},
  ...webhook
}: {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}): Ours {
  if (Object.keys(headers).length > 0)
    throw notServed("Deliveries have header fields of this service alone: metadata is given back");
  return { webhook: { ...webhook, form: "firecrawl" } };
}
