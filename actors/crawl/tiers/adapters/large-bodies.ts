/**
 * Reads bodies within their limits. A PDF, recognised by its type or first bytes, may be larger than a page and has a
 * time limit of its own. The memory for a body is reserved before it is read; while there is none, the body waits in its
 * connection.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { type ExchangeResponse, EgressError } from "../../../../cluster/ports/egress.ts";
import { contentKindOf } from "../../../lib/web/http.ts";
import type { TransportRequest } from "../../../lib/web/transport.ts";
import { collectBody, lengthOf } from "./one-request.ts";

/** Time limit for the download of a PDF. */
export const MAX_PDF_MS = 300_000;
/** Reservation that a body of unknown length begins with: most pages need no more. */
const FIRST_BYTES = 2 * 2 ** 20;
/** A body of unknown length is collected in pieces, and then put together: twice its size for a moment. */
const COLLECTING = 2;

type Limits = Pick<TransportRequest, "max_bytes" | "max_pdf_bytes" | "currentLimits" | "room">;
type BodyProblem = "too_large" | "pdf_download_timeout" | "no_room";

/** The whole body of a response from `url`, or which limit it exceeds. Throws what reading it throws. */
export type ReadBody = (
  exchange: ExchangeResponse,
  url: string,
  limits: Limits,
) => Promise<Buffer | BodyProblem>;

/** The sentence for `detail` of the attempt. */
export function sizeDetail(what: BodyProblem, { max_bytes, max_pdf_bytes = max_bytes }: Limits): string {
  switch (what) {
    case "too_large":
      return `It is larger than ${max_bytes} bytes${max_pdf_bytes > max_bytes ? `, or a PDF of more than ${max_pdf_bytes}` : ""}`;
    case "pdf_download_timeout":
      return `The PDF did not come within ${MAX_PDF_MS / 1_000} s`;
    case "no_room":
      return "This node had no room in memory for the body";
  }
}

export function bodyReader(clock: Clock): ReadBody {
  return async (exchange, url, { room, currentLimits, ...limits }) => {
    let { max_bytes, max_pdf_bytes = max_bytes } = limits;
    const content_type = exchange.headers.get("content-type")?.join(", ") ?? null;
    const declared_length = Number(exchange.headers.get("content-length")?.[0] ?? Number.NaN);
    const known_length = lengthOf(exchange);
    let problem_found: BodyProblem | null = null;
    let reserved = 0;
    /** Functions to call after reading. */
    const cleanups: (() => void)[] = [];

    /** Whether there is room for so many bytes, of a body that may have at most `max`. */
    async function makeRoom(bytes: number, max: number): Promise<boolean> {
      if (!room || bytes <= reserved) return true;
      const wanted = known_length ?? (reserved === 0 && bytes <= FIRST_BYTES ? FIRST_BYTES : max);
      reserved = Math.max(bytes, wanted);
      const isWhole = known_length !== null || reserved === FIRST_BYTES;
      return room.reserve(isWhole ? reserved : COLLECTING * reserved);
    }

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
        const isTooLarge = (): boolean =>
          (total > max_bytes || declared_length > max_bytes) && (!is_pdf || total > max_pdf_bytes);
        if (isTooLarge() && currentLimits) ({ max_bytes, max_pdf_bytes } = await currentLimits());
        if (isTooLarge()) {
          problem_found = "too_large";
          return;
        }
        if (!(await makeRoom(total, is_pdf ? max_pdf_bytes : max_bytes))) {
          problem_found = "no_room";
          return;
        }
        yield piece;
      }
    }

    try {
      const body = await collectBody({ ...exchange, body: limited() }, Infinity);
      room?.settle(problem_found === null ? (body?.length ?? 0) : 0);
      return problem_found ?? body ?? "too_large";
    } catch (problem) {
      room?.settle(0);
      if (problem_found !== null && problem instanceof EgressError) return problem_found;
      throw problem;
    } finally {
      for (const end of cleanups) end();
    }
  };
}
