/** A plain request to a transport, as the pipeline makes it; a test or a benchmark sets what it is about. */
import { isSentOnce, type OwnRequest } from "../../schemas/own-request.ts";
import type { Admission, OriginAnswer, TransportRequest } from "../../actors/lib/web/transport.ts";

/** A permit to send now. */
export const admission = (
  release: (answer: OriginAnswer) => void = () => {},
  beforeSend: () => boolean | Promise<boolean> = () => true,
): Admission => ({ kind: "admitted", beforeSend, onSent: () => {}, release });

/** By default every hop is admitted, nothing aborts it, and a body may have 15 MB. */
export const transportRequest = (url: string, over: Partial<TransportRequest> = {}): TransportRequest => ({
  url,
  max_bytes: 15 * 2 ** 20,
  accept_language: null,
  user_agent: null,
  country: null,
  validators: null,
  signal: new AbortController().signal,
  admit: async () => admission(),
  ...over,
});

/** The part of a request that is its caller's own, as test transports open it. */
export const ownPart = (own: Partial<OwnRequest>): Pick<TransportRequest, "own"> => {
  const given: OwnRequest = { headers: [], cookies: [], method: "GET", body: null, ...own };
  return { own: { sealed: JSON.stringify(given), is_post: isSentOnce(given), is_cached: false } };
};
