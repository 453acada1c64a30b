/**
 * Signed webhooks: `X-Service-Signature: t=<unix seconds>,v1=<hex HMAC-SHA256(secret, t + "." + body)>`. The key is the whole
 * secret. A secret is `whsec_` and 32 characters of A to Z, a to z and 0 to 9, which are valid base64 as well, so receivers with a library of
 * Standard Webhooks can use the same secret: its headers are sent, too.
 */
import { createHmac, randomInt } from "node:crypto";

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PREFIX = "whsec_";
const SECRET_CHARS = 32;

export const newWebhookSecret = (): string =>
  PREFIX + Array.from({ length: SECRET_CHARS }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");

export type Headers = readonly (readonly [string, string])[];

/** As receivers of Firecrawl's events verify them: of the body alone, by the whole secret. */
export const firecrawlSignature = (secret: string, body: string): Headers => [
  ["X-Firecrawl-Signature", `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`],
];

/** The headers of one attempt. `event_id` is the same for all attempts of an event. */
export function signatureHeaders(secret: string, event_id: string, body: string, now_ms: number): Headers {
  const t = Math.floor(now_ms / 1_000);
  const v1 = createHmac("sha256", secret).update(`${t}.${body}`).digest("hex");
  const standard = createHmac("sha256", Buffer.from(secret.slice(PREFIX.length), "base64"))
    .update(`${event_id}.${t}.${body}`)
    .digest("base64");
  return [
    ["X-Service-Signature", `t=${t},v1=${v1}`],
    ["webhook-id", event_id],
    ["webhook-timestamp", String(t)],
    ["webhook-signature", `v1,${standard}`],
  ];
}
