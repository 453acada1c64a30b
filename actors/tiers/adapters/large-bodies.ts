/**
 * Reads bodies within their limits. A PDF, recognised by its type or first bytes, may be larger than a page and has a
 * time limit of its own; the memory of large bodies is limited in total.
 */
import type { Clock } from "../../../cluster/ports/clock.ts";
import { type ExchangeResponse, EgressError } from "../../../cluster/ports/egress.ts";
import { contentKindOf } from "../../lib/web/http.ts";
import type { TransportRequest } from "../../lib/web/transport.ts";
import { collectBody } from "./one-request.ts";

/** Time limit for the download of a PDF. */
export const MAX_PDF_MS = 300_000;
/** Memory for large bodies, enough for two of the largest; the next one waits, and so does its origin. */
const MAX_LARGE_BYTES_AT_ONCE = 400 * 2 ** 20;

type Limits = Pick<TransportRequest, "max_bytes" | "max_pdf_bytes" | "signal">;
type SizeProblem = "too_large" | "pdf_download_timeout";

/** The whole body of a response from `url`, or which limit it exceeds. Throws what reading it throws. */
export type ReadBody = (
  exchange: ExchangeResponse,
  url: string,
  limits: Limits,
) => Promise<Buffer | SizeProblem>;

/** The sentence for `detail` of the attempt. */
export const sizeDetail = (what: SizeProblem, { max_bytes, max_pdf_bytes = max_bytes }: Limits): string =>
  what === "too_large"
    ? `It is larger than ${max_bytes} bytes${max_pdf_bytes > max_bytes ? `, or a PDF of more than ${max_pdf_bytes}` : ""}`
    : `The PDF did not come within ${MAX_PDF_MS / 1_000} s`;

export function bodyReader(clock: Clock): ReadBody {
  const budget = byteBudget(MAX_LARGE_BYTES_AT_ONCE);

  return async (exchange, url, { max_bytes, max_pdf_bytes = max_bytes, signal }) => {
    const content_type = exchange.headers.get("content-type")?.join(", ") ?? null;
    const declared_length = Number(exchange.headers.get("content-length")?.[0] ?? Number.NaN);
    let problem_found: SizeProblem | null = null;
    let is_reserved = false;
    /** What must be cleaned up after reading. */
    const cleanups: (() => void)[] = [];

    async function* limited(): AsyncGenerator<Buffer> {
      let is_pdf = false;
      let total = 0;
      for await (const piece of exchange.body) {
        if (total === 0 && piece.length > 0 && contentKindOf(content_type, piece, url) === "pdf") {
          is_pdf = true;
          const alarm = clock.at(clock.now() + MAX_PDF_MS, () => {
            problem_found = "pdf_download_timeout";
            exchange.cancel();
          });
          cleanups.push(() => alarm[Symbol.dispose]());
        }
        total += piece.length;
        const is_large = total > max_bytes || declared_length > max_bytes;
        if (is_large && (!is_pdf || total > max_pdf_bytes)) {
          problem_found = "too_large";
          return;
        }
        if (is_large && !is_reserved) {
          cleanups.push(await budget.reserve(Math.max(total, declared_length || max_pdf_bytes), signal));
          is_reserved = true;
        }
        yield piece;
      }
    }

    try {
      const body = await collectBody({ ...exchange, body: limited() }, Math.max(max_bytes, max_pdf_bytes));
      return problem_found ?? body ?? "too_large";
    } catch (problem) {
      if (problem_found !== null && problem instanceof EgressError) return problem_found;
      throw problem;
    } finally {
      for (const end of cleanups) end();
    }
  };
}

/** A budget of bytes, first come, first served. A single request is always granted, whatever its size. */
function byteBudget(bytes: number) {
  const waiting: (() => void)[] = [];
  let reserved = 0;
  return {
    /** Throws EgressError "aborted" when the signal comes first. */
    async reserve(bytes_needed: number, signal: AbortSignal): Promise<() => void> {
      while (reserved > 0 && reserved + bytes_needed > bytes) {
        const { promise, resolve } = Promise.withResolvers<void>();
        waiting.push(resolve);
        signal.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        if (signal.aborted)
          throw new EgressError("aborted", "The deadline passed while other large files were read");
      }
      reserved += bytes_needed;
      return () => {
        reserved -= bytes_needed;
        for (const wake of waiting.splice(0)) wake();
      };
    },
  };
}
