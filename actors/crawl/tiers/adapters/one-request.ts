/**
 * Steps of all routes for each request: ask for a permit, wait no longer than the caller's signal, read a body within
 * its limit, name failures. Destinations and header fields belong to each route.
 */
import type { EgressProblem, ExchangeRequest, ExchangeResponse } from "../../../../cluster/ports/egress.ts";
import { refusedPortOf } from "../../../lib/web/destination.ts";
import type { Admission, AdmitOptions, HopRefusal, TransportRequest } from "../../../lib/web/transport.ts";

/**
 * Asks for the permit for one hop. Null: the signal was aborted first; a permit that is granted later is released at
 * once.
 */
export function admitted(
  { admit: enter, signal }: Pick<TransportRequest, "admit" | "signal">,
  url: string,
  options: AdmitOptions = {},
): Promise<Admission | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    enter(url, options).then((admission) => {
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted && admission.kind === "admitted")
        admission.release({ status: null, retry_after_s: null });
      resolve(signal.aborted ? null : admission);
    }, reject);
  });
}

/**
 * The permit as hooks of an Egress request. Egress needs the answer synchronously; a permit that must ask another node
 * is refused here.
 */
export const sendHooks = ({
  beforeSend,
  onSent,
}: Extract<Admission, { kind: "admitted" }>): Required<Pick<ExchangeRequest, "beforeSend" | "onSent">> => ({
  beforeSend: () => beforeSend() === true,
  onSent,
});

/** The refusal of a destination that is not allowed. */
export const destinationRefusal = (error: EgressProblem, url: string): HopRefusal => ({
  error,
  step: "egress",
  reason: error,
  retry_after_s: null,
  detail: portDetail(error, url),
});

/** Null: the port is not why. */
function portDetail(error: EgressProblem, url: string): string | null {
  const port = error === "blocked_destination" ? refusedPortOf(url) : null;
  return port === null
    ? null
    : `Port ${port} is refused on every host: it belongs to another protocol than HTTP`;
}

/** Any end of the caller's time is `timeout`, whichever clock ran out first. */
export const reasonOf = (problem: EgressProblem): string => (problem === "aborted" ? "timeout" : problem);

/** A Location field as it was sent, without user information. */
export const withoutUserInfo = (location: string): string =>
  location.replace(/^([a-z]+:)?[/\\]{2}[^/\\?#]*@/i, "$1//");

/** Repeated fields joined, as RFC 9110 §5.3 allows. */
export const joinHeaders = (headers: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, string> =>
  new Map([...headers].map(([name, values]) => [name, values.join(", ")]));

const PIECE_BYTES = 65_536;
const MAX_PIECE_BYTES = 1_048_576;

/** The length of a body before it is read; null where it is unknown or its coding hides it. */
export function lengthOf({ headers }: ExchangeResponse): number | null {
  const isCoded = headers.get("content-encoding")?.some((coding) => !/^(?:identity)?$/i.test(coding.trim()));
  const declared = Number(headers.get("content-length")?.[0] ?? Number.NaN);
  return !isCoded && Number.isSafeInteger(declared) && declared >= 0 ? declared : null;
}

/**
 * The whole body; null: it exceeds the limit. A body of declared length is read into one buffer. Otherwise pieces fill
 * growing chunks that are joined once, so that an origin that sends single bytes costs no extra memory.
 */
export async function collectBody(exchange: ExchangeResponse, max_bytes: number): Promise<Buffer | null> {
  const length = lengthOf(exchange);
  if (length !== null && length > max_bytes) {
    exchange.cancel();
    return null;
  }
  const chunks: Buffer[] = [];
  let chunk = Buffer.alloc(0);
  let filled = 0;
  let total = 0;
  for await (const piece of exchange.body) {
    total += piece.length;
    if (total > max_bytes) return null;
    let from = 0;
    while (from < piece.length) {
      if (filled === chunk.length) {
        if (filled > 0) chunks.push(chunk);
        const next = Math.min(MAX_PIECE_BYTES, Math.max(PIECE_BYTES, 2 * chunk.length));
        chunk = Buffer.allocUnsafeSlow(chunk.length === 0 && length ? length : next);
        filled = 0;
      }
      const copied = piece.copy(chunk, filled, from);
      filled += copied;
      from += copied;
    }
  }
  if (chunks.length === 0) return chunk.subarray(0, filled);
  return Buffer.concat([...chunks, chunk.subarray(0, filled)], total);
}
