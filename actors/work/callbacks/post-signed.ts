/** A single attempt to deliver a signed webhook whose address and secret are stored sealed. */
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import { type SecretPlace, type Secrets, UNREADABLE_STATUS } from "../../../cluster/ports/secrets.ts";
import { WEBHOOK_TIMEOUT_MS } from "./delivery-schedule.ts";
import { type Delivery, type DeliveryResult, postJson, type PostDeps } from "./post-json.ts";
import { type Headers, signatureHeaders } from "./webhook-signature.ts";

export interface PostSignedDeps extends PostDeps {
  readonly secrets: Pick<Secrets, "open">;
  readonly log: Log;
}

interface Sealed {
  readonly stored: string;
  readonly place: SecretPlace;
}

export interface SignedDelivery extends Pick<Delivery, "project"> {
  readonly url: Sealed;
  readonly secret: Sealed;
  readonly event_id: string;
  /** JSON text, as it is signed and sent. */
  readonly body: string;
  /** Beside those of all signed webhooks. */
  readonly headersOf?: (secret: string, body: string) => Headers;
}

/** It never throws. */
export async function postSigned(
  deps: PostSignedDeps,
  { project, url, secret, event_id, body, headersOf }: SignedDelivery,
): Promise<DeliveryResult> {
  const { secrets, log, clock } = deps;
  let opened: { readonly url: string; readonly secret: string };
  try {
    opened = { url: secrets.open(url.stored, url.place), secret: secrets.open(secret.stored, secret.place) };
  } catch (problem) {
    if (!(problem instanceof Fault)) throw problem;
    log.error("A webhook cannot be delivered", { code: problem.code, problem: problem.message });
    return { status: UNREADABLE_STATUS, retry_after_s: null };
  }
  const headers = [
    ...signatureHeaders(opened.secret, event_id, body, clock.now()),
    ...(headersOf?.(opened.secret, body) ?? []),
  ];
  return postJson(deps, { project, url: opened.url, body, headers, timeout_ms: WEBHOOK_TIMEOUT_MS });
}
