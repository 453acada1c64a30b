/** What the operations share: the parts they are built from, and the check that comes before any request. */
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { YieldToEventLoop } from "../../../cluster/ports/event-loop.ts";
import type { FilerSubmissions, SubmissionsDocument } from "../filer-submissions.ts";
import type { FilerFinder } from "../find-filer.ts";
import type { ParseResult } from "../identifiers.ts";
import type { ListedFilers } from "../listed-filers.ts";
import type { FilerRef } from "../parse-request.ts";
import { type CallerContext, type Failure, failure, isFailure } from "../results.ts";
import type { SourceReader } from "../source-reader.ts";

export interface OperationDeps {
  /** False: the operator declared no identity, so every request is refused. */
  readonly isConfigured: boolean;
  readonly reader: SourceReader;
  readonly listed: ListedFilers;
  readonly submissions: FilerSubmissions;
  readonly filers: FilerFinder;
  readonly clock: Clock;
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Addresses in answers begin with this; no slash at its end. */
  readonly www_url: string;
}

const NOT_CONFIGURED = failure(
  "filings_not_configured",
  "The filing system is not configured: the operator must set TRAWL_FILINGS_IDENTITY",
);

/** The parsed request, or the error it is answered with before any document is requested. */
export function validated<R>(
  { isConfigured }: Pick<OperationDeps, "isConfigured">,
  parsed: ParseResult<R>,
): R | Failure {
  if (!isConfigured) return NOT_CONFIGURED;
  return parsed.kind === "invalid" ? failure("invalid_identifier", parsed.message) : parsed.value;
}

/** The submissions of the filer that a request names, or why there are none. */
export async function submissionsOfFiler(
  { filers, submissions }: Pick<OperationDeps, "filers" | "submissions">,
  ref: FilerRef,
  caller: CallerContext,
): Promise<(SubmissionsDocument & { readonly cik: number }) | Failure> {
  const filer = await filers.cikOf(ref, caller);
  if (isFailure(filer)) return filer;
  const main = await submissions.submissionsOf(filer.cik, caller);
  return isFailure(main) ? main : { ...main, cik: filer.cik };
}
