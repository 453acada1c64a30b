/**
 * Bodies within their limits, where a PDF may be larger than a page: it is known by its type or its first bytes, has
 * a time of its own, and only so many large ones are collected at once.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import { type Answered, EgressError } from "../../../cluster/ports/egress.ts";
import { contentKindOf } from "../../lib/web/http.ts";
import type { TransportRequest } from "../../lib/web/transport.ts";
import { collected } from "./one-request.ts";

/** A PDF that has not come whole in this time (1-core.md, `timeout`). */
export const MAX_PDF_MS = 300_000;
/** Two of the largest; the next one waits, and its origin with it. */
const AT_ONCE_BYTES = 400 * 2 ** 20;

type Limits = Pick<TransportRequest, "max_bytes" | "max_pdf_bytes" | "signal">;
type TooMuch = "too_large" | "pdf_download_timeout";

/** The whole body of an answer from `url`, or why not. Throws what reading it throws. */
export type ReadBody = (exchange: Answered, url: string, limits: Limits) => Promise<Buffer | TooMuch>;

/** A sentence for the attempt. */
export const tooMuch = (what: TooMuch, { max_bytes, max_pdf_bytes = max_bytes }: Limits): string =>
  what === "too_large"
    ? `It is larger than ${max_bytes} bytes${max_pdf_bytes > max_bytes ? `, or a PDF of more than ${max_pdf_bytes}` : ""}`
    : `The PDF did not come within ${MAX_PDF_MS / 1_000} s`;

export function bodyReader(clock: Clock): ReadBody {
  const places = room(AT_ONCE_BYTES);

  return async (exchange, url, { max_bytes, max_pdf_bytes = max_bytes, signal }) => {
    const content_type = exchange.headers.get("content-type")?.join(", ") ?? null;
    const said = Number(exchange.headers.get("content-length")?.[0] ?? Number.NaN);
    let refused: TooMuch | null = null;
    let has_room = false;
    /** What was set up while reading, to be ended with it. */
    const ends: (() => void)[] = [];

    async function* within(): AsyncGenerator<Buffer> {
      let is_pdf = false;
      let total = 0;
      for await (const piece of exchange.body) {
        if (total === 0 && piece.length > 0 && contentKindOf(content_type, piece, url) === "pdf") {
          is_pdf = true;
          const alarm = clock.at(clock.now() + MAX_PDF_MS, () => {
            refused = "pdf_download_timeout";
            exchange.cancel();
          });
          ends.push(() => alarm[Symbol.dispose]());
        }
        total += piece.length;
        const is_large = total > max_bytes || said > max_bytes;
        if (is_large && (!is_pdf || total > max_pdf_bytes)) {
          refused = "too_large";
          return;
        }
        if (is_large && !has_room) {
          ends.push(await places.enter(Math.max(total, said || max_pdf_bytes), signal));
          has_room = true;
        }
        yield piece;
      }
    }

    try {
      const body = await collected({ ...exchange, body: within() }, Math.max(max_bytes, max_pdf_bytes));
      return refused ?? body ?? "too_large";
    } catch (problem) {
      if (refused !== null && problem instanceof EgressError) return refused;
      throw problem;
    } finally {
      for (const end of ends) end();
    }
  };
}

/** So many bytes for all; who finds no room waits for those before him. One alone always finds some. */
function room(bytes: number) {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    /** Throws EgressError "aborted" when the signal comes first. */
    async enter(wanted: number, signal: AbortSignal): Promise<() => void> {
      while (taken > 0 && taken + wanted > bytes) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        if (signal.aborted)
          throw new EgressError("aborted", "The deadline passed while other large files were read");
      }
      taken += wanted;
      return () => {
        taken -= wanted;
        for (const wake of waiting.splice(0)) wake();
      };
    },
  };
}
