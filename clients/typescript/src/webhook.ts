/** Whether a delivery comes from the service: HMAC-SHA256 over its moment and its exact bytes, with the secret of the webhook. */
import type { CompanyChangedEvent, UsageThresholdEvent } from "./generated/api.ts";
import { TrawlError } from "./errors.ts";

export type WebhookEvent = CompanyChangedEvent | UsageThresholdEvent;

export interface WebhookOptions {
  /** How old a delivery may be, in seconds. Default 300. */
  readonly toleranceS?: number;
  /** The moment now, in milliseconds. Default: the clock. */
  readonly now?: number;
}

type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

const HEADER = "x-service-signature";
const TOLERANCE_S = 300;

/**
 * The event, or an error with the code `invalid_signature`. `body`: the bytes as they came, or their text; JSON that was read and written anew
 * does not fit. `secret`: several while one replaces another.
 */
export async function verifyWebhook(
  headers: Headers | HeaderRecord,
  body: string | Uint8Array,
  secret: string | readonly string[],
  { toleranceS = TOLERANCE_S, now = Date.now() }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const parts = headerOf(headers)
    .split(",")
    .map((part) => part.trim().split("=", 2) as [string, string?]);
  const moment = parts.find(([name]) => name === "t")?.[1] ?? "";
  const signatures = parts.flatMap(([name, hex]) => (name === "v1" && hex ? [bytesOf(hex)] : []));
  if (!/^\d+$/.test(moment) || signatures.length === 0)
    throw wrong(`The header ${HEADER} is missing or has another form`);
  const encoder = new TextEncoder();
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const head = encoder.encode(`${moment}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  for (const one of typeof secret === "string" ? [secret] : secret) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(one), algorithm, false, ["verify"]);
    for (const signature of signatures) {
      // Takes as long for a wrong signature as for a right one.
      if (!(await crypto.subtle.verify("HMAC", key, signature, signed))) continue;
      if (Math.abs(now / 1_000 - Number(moment)) > toleranceS)
        throw wrong(`The delivery is of ${moment}, too far from now`);
      return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
    }
  }
  throw wrong("No signature fits the body and the secret");
}

function headerOf(headers: Headers | HeaderRecord): string {
  if (headers instanceof Headers) return headers.get(HEADER) ?? "";
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === HEADER);
  return [found?.[1] ?? ""].flat().join(",");
}

function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

const wrong = (message: string): TrawlError => new TrawlError("invalid_signature", message);
