/** Asks one source about one company, with a time limit. A source that breaks is a source that failed. */
import type { WorkContext } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { RefreshRequest } from "../../../schemas/companies.ts";
import { workFields } from "../../lib/work-fields.ts";
import type { Lookup } from "./refresh-plan.ts";
import type { HealthBook } from "./source-health.ts";
import type { KnownCompany, LookupAnswer, Source, SourceHttp } from "./source.ts";

/** Whom a source is asked for. */
export interface LookupCaller extends Pick<RefreshRequest, "project" | "lane" | "work_id"> {
  /** The key that pays for requests; absent: sources that cost money answer `paid_tier_required`. */
  readonly payer?: RefreshRequest["payer"];
  /** The oldest data that is accepted; null: as the freshness class says. */
  readonly max_age_s?: number | null;
  /** Called with what a request has cost. */
  readonly onCost?: (micros: number) => void;
}

/** How a source's requests are sent for one task. */
export type OpenHttp = (
  source: Source,
  caller: LookupCaller,
  context: WorkContext,
  signal: AbortSignal,
) => SourceHttp;

export interface AskSourceDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly openHttp: OpenHttp;
  readonly health: Pick<HealthBook, "record">;
}

/** The error of a request for which this service's own throttle of a site had no slot in time. */
export const OWN_THROTTLE = "politeness_timeout";
/** How long one source may take; the answer goes out without a slower one. */
const SOURCE_TIMEOUT_MS = 20_000;

/** Never throws, and records the outcome in the source's health. */
export async function askSource(
  deps: AskSourceDeps,
  lookup: Lookup,
  { caller, company }: { readonly caller: LookupCaller; readonly company: KnownCompany },
  context: WorkContext,
): Promise<LookupAnswer> {
  const answer = await lookUp(deps, lookup, { caller, company }, context);
  const failed = failureIn(answer);
  if (!failed?.is_of_payer && failed?.error !== OWN_THROTTLE)
    deps.health.record(lookup.source.description.name, failed?.error ?? null);
  return answer;
}

/** The failure of an answer, or of one of its groups. */
export const failureIn = (answer: LookupAnswer) =>
  answer.kind === "failed"
    ? answer
    : answer.kind === "found"
      ? answer.groups.find((group) => group.kind === "failed")
      : undefined;

/**
 * The answer of a source to one question; `late()` when its time is over or the task ends first: its requests are aborted then. Throws
 * what the question throws.
 */
export async function askInTime<Answer, Late>(
  { clock, openHttp }: Pick<AskSourceDeps, "clock" | "openHttp">,
  {
    source,
    caller,
    timeout_ms,
  }: { readonly source: Source; readonly caller: LookupCaller; readonly timeout_ms: number },
  context: WorkContext,
  question: (http: SourceHttp, signal: AbortSignal) => Promise<Answer>,
  late: () => Late,
): Promise<Answer | Late> {
  const stop = new AbortController();
  const over = Promise.withResolvers<Late>();
  const giveUp = (): void => {
    stop.abort();
    over.resolve(late());
  };
  const timer = clock.at(clock.now() + timeout_ms, giveUp);
  context.signal.addEventListener("abort", giveUp);
  try {
    const http = openHttp(source, caller, context, stop.signal);
    return await Promise.race([question(http, stop.signal), over.promise]);
  } finally {
    timer[Symbol.dispose]();
    context.signal.removeEventListener("abort", giveUp);
  }
}

async function lookUp(
  deps: AskSourceDeps,
  { source, identifier, groups }: Lookup,
  { caller, company }: { readonly caller: LookupCaller; readonly company: KnownCompany },
  context: WorkContext,
): Promise<LookupAnswer> {
  const { name } = source.description;
  const fail = (error: string, message: string): LookupAnswer => ({
    kind: "failed",
    error,
    message,
    retry_after_s: null,
  });
  try {
    return await askInTime(
      deps,
      { source, caller, timeout_ms: SOURCE_TIMEOUT_MS },
      context,
      (http, signal) => source.lookup(identifier, groups, http, signal, company),
      () => fail("timeout", `${name} did not answer within ${SOURCE_TIMEOUT_MS / 1_000} s`),
    );
  } catch (problem) {
    const fields = { ...workFields(caller.work_id), source: name, problem: String(problem) };
    deps.log.warn("A company source's document could not be parsed", fields);
    return fail("unreadable", `The answer of ${name} could not be parsed`);
  }
}
