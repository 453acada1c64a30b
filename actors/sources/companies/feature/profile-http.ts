/**
 * The profile site as a source of companies: its requests go through the profiles slice, with its routes, its throttle and
 * its cache. The caller pays for them; what each has cost is told to `onCost`.
 */
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Profile, ProfileBody } from "../../../../schemas/profiles.ts";
import { countryCode } from "../../profiles/countries.ts";
import type { ProfilesCaller, ProfilesResult } from "../../profiles/service.ts";
import type { LookupCaller } from "../ask-source.ts";
import type { SourceFailure, SourceHttp, SourceResponse } from "../source.ts";
import { BRIDGE_TIMEOUT_MS, failed, missing } from "./bridged.ts";

export interface ProfileHttpDeps {
  readonly read: (fields: ProfileBody, caller: ProfilesCaller) => Promise<ProfilesResult>;
  readonly blobs: Pick<Blobs, "head">;
  readonly clock: Clock;
}

/** Errors of the caller's request, of which nothing follows for the source. */
const OF_THE_PAYER: ReadonlySet<string> = new Set(["paid_tier_required", "budget_exhausted"]);
/** There is no profile: not at the address, and not under the name. */
const ABSENT: ReadonlySet<string> = new Set(["not_found", "invalid_identifier"]);

export function profileHttp({ read, blobs, clock }: ProfileHttpDeps, caller: LookupCaller): SourceHttp {
  const { project, lane, payer, max_age_s = null, onCost } = caller;
  let requests = 0;

  async function profileResponse(
    { url, retrieved_at, sha256 }: NonNullable<Extract<ProfilesResult["answer"], { op: "profile" }>["fetch"]>,
    profile: Profile,
  ): Promise<SourceResponse> {
    const size = await blobs.head(sha256!);
    const body = { ...profile, country_code: countryCode(profile.country) };
    return {
      kind: "answered",
      status: 200,
      headers: new Map(),
      body: Buffer.from(JSON.stringify(body)),
      document: {
        url,
        retrieved_at: retrieved_at!,
        sha256: sha256!,
        bytes: size?.bytes ?? 0,
        content_type: "text/html",
      },
    };
  }

  return async ({ url, body = "{}" }): Promise<SourceResponse | SourceFailure> => {
    if (payer === undefined)
      return { ...failed("paid_tier_required", "Profiles cost money, and nobody pays"), is_of_payer: true };
    const fields = {
      ...(JSON.parse(body) as ProfileBody),
      ...(max_age_s !== null && { cache_ttl_s: max_age_s }),
    };
    const deadline_ms = Math.round(clock.now() + BRIDGE_TIMEOUT_MS);
    const id = `${payer.request_id}.${++requests}`;
    const { answer, cost_micros } = await read(fields, { project, key: payer.key, lane, deadline_ms, id });
    onCost?.(cost_micros);
    if (answer.op !== "profile") return failed("unreadable", "Profiles answered another operation");
    const { error, error_detail, retry_after_s, profile, fetch } = answer;
    if (error !== null && ABSENT.has(error)) return missing(fetch?.url ?? url, 404, clock.now());
    if (error !== null) {
      const failure = failed(error, error_detail ?? error, retry_after_s);
      return OF_THE_PAYER.has(error) ? { ...failure, is_of_payer: true } : failure;
    }
    return profileResponse(fetch!, profile!);
  };
}
