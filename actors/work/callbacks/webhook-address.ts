/** Which addresses a webhook may have, judged when it is made. A name is judged again when it is resolved, before each delivery. */
import type { Destination } from "../../lib/web/destination.ts";

export type WebhookAddress =
  | { readonly kind: "right"; readonly href: string }
  | { readonly kind: "wrong"; readonly message: string; readonly type: string };

const NOT_HTTPS = { kind: "wrong", message: "Input should be an https address", type: "url_scheme" } as const;
const BLOCKED = {
  kind: "wrong",
  message: "Private, loopback, link-local and metadata addresses receive no webhooks",
  type: "blocked_destination",
} as const;

/** Credentials in it are sent with each delivery. */
export function webhookAddress(text: string, destination: Pick<Destination, "url">): WebhookAddress {
  const url = URL.parse(text);
  if (url?.protocol !== "https:") return NOT_HTTPS;
  const judgement = destination.url(url.href);
  return judgement === "allowed" || judgement === "resolve" ? { kind: "right", href: url.href } : BLOCKED;
}
