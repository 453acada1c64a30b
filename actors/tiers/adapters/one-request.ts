/**
 * What every route does for one request to somebody: ask leave, wait no longer than its signal, read a body within
 * its limit, name what went wrong. Where to go and what to say is the route's own.
 */
import type { ExchangeResponse, EgressProblem } from "../../../cluster/ports/egress.ts";
import type { Admission, HopRefusal, TransportRequest } from "../../lib/web/transport.ts";

/** Asks leave for one hop. Null when the signal came first; leave granted after that is handed back at once. */
export function admitted(
  { admit: enter, signal }: Pick<TransportRequest, "admit" | "signal">,
  url: string,
): Promise<Admission | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    enter(url).then((admission) => {
      signal.removeEventListener("abort", onAbort);
      if (signal.aborted && admission.kind === "admitted")
        admission.release({ status: null, retry_after_s: null });
      resolve(signal.aborted ? null : admission);
    }, reject);
  });
}

/** Leave as the way out asks for it. What is not known at once, as in a browser elsewhere, is no leave for it. */
export const sendHooks = ({ beforeSend, onSent }: Extract<Admission, { kind: "admitted" }>) => ({
  beforeSend: () => beforeSend() === true,
  sent: onSent,
});

/** A destination nobody may be sent to. */
export const destinationRefusal = (error: EgressProblem): HopRefusal => ({
  error,
  step: "egress",
  reason: error,
  retry_after_s: null,
  detail: null,
});

/** The end of the caller's patience, whoever's clock ran out, is `timeout`. */
export const reasonOf = (problem: EgressProblem): string => (problem === "aborted" ? "timeout" : problem);

/** A Location as it was sent, less a user part. */
export const withoutUserInfo = (location: string): string =>
  location.replace(/^([a-z]+:)?[/\\]{2}[^/\\?#]*@/i, "$1//");

/** Repeated fields in one, as RFC 9110 (5.3) lets them be joined. */
export const joinHeaders = (headers: ReadonlyMap<string, readonly string[]>): ReadonlyMap<string, string> =>
  new Map([...headers].map(([name, values]) => [name, values.join(", ")]));

const PIECE_BYTES = 65_536;
const MAX_PIECE_BYTES = 1_048_576;

/**
 * The whole body, or null when it is longer than allowed. A body of known length is read into its one place. Else
 * pieces are filled and joined once: small pieces of an origin that sends byte by byte cost what they hold.
 */
export async function collectBody(exchange: ExchangeResponse, max_bytes: number): Promise<Buffer | null> {
  const isCoded = exchange.headers
    .get("content-encoding")
    ?.some((coding) => !/^\s*(?:identity)?\s*$/i.test(coding));
  const declared = Number(exchange.headers.get("content-length")?.[0] ?? Number.NaN);
  const length = !isCoded && Number.isSafeInteger(declared) ? declared : null;
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
