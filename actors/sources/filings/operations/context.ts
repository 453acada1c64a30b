/** Parts that all operations are built from. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { FilerFilings, FilerSubmissions } from "../filer-submissions.ts";
import type { FilerFinder } from "../find-filer.ts";
import type { ListedFilers } from "../listed-filers.ts";
import type { FilerRef } from "../parse-request.ts";
import type { RowsQuery } from "../readings.ts";
import { type CallerContext, type Failure, isFailure } from "../results.ts";
import type { SourceReader } from "../source-reader.ts";

export interface OperationDeps {
  /** False: the operator declared no identity, so every request is refused. */
  readonly isConfigured: boolean;
  readonly reader: SourceReader;
  readonly listed: ListedFilers;
  readonly submissions: FilerSubmissions;
  readonly filers: FilerFinder;
  readonly clock: Clock;
  /** Addresses in answers begin with this; no slash at its end. */
  readonly www_url: string;
}

/** The matching filings of the filer that a request names, or why there are none. */
export async function submissionsOfFiler(
  { filers, submissions }: Pick<OperationDeps, "filers" | "submissions">,
  ref: FilerRef,
  query: RowsQuery,
  caller: CallerContext,
): Promise<(FilerFilings & { readonly cik: number }) | Failure> {
  const filer = await filers.cikOf(ref, caller);
  if (isFailure(filer)) return filer;
  const main = await submissions.submissionsOf(filer.cik, query, caller);
  return isFailure(main) ? main : { ...main, cik: filer.cik };
}
