/** The ids of companies that a call names; those that are not in the register are looked up at the pace of their sources. */
import { type Clock, sleep } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Answer } from "../../../../gateway/route.ts";
import type { Imports } from "../imports/imported-company.ts";
import { type CompanyReference, findCompany } from "../references.ts";
import type { CompanyService, CompanySnapshot, UnknownCompany } from "../service.ts";
import { unknownCompany } from "./record-routes.ts";

export type RightReference = Exclude<CompanyReference, { readonly kind: "wrong" }>;

interface LookupDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly service: CompanyService;
  readonly imports: Imports;
}

interface Caller {
  readonly project: string;
  readonly signal: AbortSignal;
}

const LOOKUPS_AT_ONCE = 2;

/**
 * Each company once, or the reply that one is unknown. After the signal aborts nothing more is looked up; what was found stays in
 * the register. Throws Fault.
 */
export async function idsOf(
  deps: LookupDeps,
  references: readonly RightReference[],
  caller: Caller,
): Promise<readonly string[] | Answer> {
  const { documents, clock, imports } = deps;
  const ids: string[] = [];
  let unknown: Answer | null = null;
  const waiting = references.entries();
  const lane = async (): Promise<void> => {
    for (const [index, reference] of waiting) {
      if (unknown !== null || caller.signal.aborted) return;
      const stored = await findCompany(documents, reference, clock.now(), imports);
      if (stored?.isStored) ids[index] = stored.id;
      else {
        const found = await lookUp(deps, reference, caller, stored?.imported != null);
        if (found.company === null) unknown ??= unknownCompany(found, textOf(reference));
        else ids[index] = found.company.id;
      }
    }
  };
  await Promise.all(Array.from({ length: LOOKUPS_AT_ONCE }, lane));
  return unknown ?? [...new Set(ids)];
}

/** Waits and asks again while a source has no slot. */
async function lookUp(
  { clock, service }: LookupDeps,
  reference: RightReference,
  { project, signal }: Caller,
  /** A company that only imports know is stored by its first refresh. */
  refresh: boolean,
): Promise<CompanySnapshot | UnknownCompany> {
  for (;;) {
    const options = { sources: null, groups: [], max_age_s: null, refresh };
    const found = await service.get(reference, options, { project, lane: "sync" });
    const busy = found.company === null && found.refresh.find(({ error }) => error === "rate_limited");
    if (!busy || signal.aborted) return found;
    const pause_ms = Math.max(1, busy.retry_after_s ?? 1) * 1_000;
    await sleep(clock, pause_ms);
  }
}

const textOf = (reference: RightReference): string =>
  reference.kind === "id" ? reference.id : reference.reference;
