/**
 * Profiles without sockets: the site's actors, politeness and robots.txt on a virtual clock, and routes that a test
 * scripts behind their permits.
 */
import { accountActor } from "../../actors/business/accounts/actor.ts";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../actors/crawl/domain/robots.actor.ts";
import { admit } from "../../actors/crawl/fetch/admission.ts";
import { premiumCosts, type Spending } from "../../actors/crawl/fetch/premium.ts";
import { nameRules } from "../../actors/sources/profiles/feature/name-rules.ts";
import { profilePageActor } from "../../actors/sources/profiles/page.actor.ts";
import type { Provider } from "../../actors/sources/profiles/provider.ts";
import { northdata } from "../../actors/sources/profiles/providers/northdata.ts";
import { readPage } from "../../actors/sources/profiles/read-page.ts";
import { profileRoutesActor } from "../../actors/sources/profiles/routes.actor.ts";
import {
  profilesService,
  type ProfilesCall,
  type SearchPages,
} from "../../actors/sources/profiles/service.ts";
import { siteRequests } from "../../actors/sources/profiles/site-request.ts";
import type { Transport, TransportRequest, TransportResult } from "../../actors/lib/web/transport.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { embedded } from "../../cluster/embedded.ts";
import { type PremiumTier } from "../../schemas/tier-table.ts";
import type { ProfilesAnswer, StoredProfilesAnswer } from "../../schemas/profiles.ts";

export const SITE = "https://www.profiles.test";
export const HOSTS = ["profiles.test", "profiles.example"];

/** A request that left for the site. */
export interface Sent {
  readonly tier: PremiumTier;
  readonly url: string;
  readonly at_ms: number;
  readonly request: TransportRequest;
}

/** Answer of the site over a route. */
export type Play = (sent: Sent) => TransportResult | Promise<TransportResult>;

export const page = (
  body: string | object,
  {
    status = 200,
    headers = {},
    url = `${SITE}/`,
  }: { status?: number; headers?: Record<string, string>; url?: string } = {},
): TransportResult => ({
  kind: "page",
  final_url: url,
  redirects: [],
  status,
  headers: new Map(Object.entries({ "content-type": "text/html; charset=utf-8", ...headers })),
  body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  body_kind: "origin",
  ms: 5,
});

export const broken = (reason: string): TransportResult => ({
  kind: "failed",
  reason,
  status: null,
  redirects: [],
  final_url: null,
  detail: null,
  ms: 5,
});

interface Options {
  readonly robots?: string | number;
  readonly search?: SearchPages;
  readonly spending?: Spending;
  /** Micros that earlier runs of a call have spent: its id is `call-0`, `call-1` and so on. */
  readonly spentBy?: (id: string) => Promise<number>;
  readonly provider?: Provider;
  /** How long each exchange takes. */
  readonly takes_ms?: number;
}

export function profilesWorld(
  plays: Partial<Record<PremiumTier, Play>>,
  {
    robots = 404,
    search,
    spending,
    spentBy = async () => 0,
    provider = northdata,
    takes_ms = 0,
  }: Options = {},
) {
  const clock = virtualClock(Date.UTC(2026, 10, 23));
  const documents = memoryDocuments();
  const blobs = memoryBlobs();
  const { metrics, log } = silentTelemetry();
  const joined = new Map(HOSTS.map((host) => [host, HOSTS[0]!]));
  const sent: Sent[] = [];
  const in_flight = { now: 0, most: 0 };

  const routeOf =
    (tier: PremiumTier, play: Play): Transport =>
    async (request) => {
      const admission = await request.admit(request.url);
      if (admission.kind === "refused")
        return { kind: "refused", refusal: admission.refusal, redirects: [], final_url: null, ms: 0 };
      if (!(await admission.beforeSend())) {
        admission.release({ status: null, retry_after_s: null });
        return broken("timeout");
      }
      admission.onSent();
      in_flight.most = Math.max(in_flight.most, ++in_flight.now);
      const one = { tier, url: request.url, at_ms: clock.now(), request };
      sent.push(one);
      if (takes_ms > 0) await new Promise<void>((resolve) => clock.at(clock.now() + takes_ms, resolve));
      const result = await play(one);
      in_flight.now--;
      const status = result.kind === "page" ? result.status : null;
      const retry_after = result.kind === "page" ? result.headers.get("retry-after") : undefined;
      admission.release({ status, retry_after_s: retry_after === undefined ? null : Number(retry_after) });
      return result;
    };
  const routes = Object.fromEntries(
    Object.entries(plays).map(([tier, play]) => [tier, routeOf(tier as PremiumTier, play)]),
  );
  const rules = typeof robots === "number" ? { status: robots } : { status: 200, body: robots };
  const costs = premiumCosts({
    prices: { proxy: 2_000, proxy_render: 5_000 },
    ...(spending && { spending }),
  });
  const siteRequest = siteRequests({
    clock,
    documents,
    blobs,
    metrics,
    log,
    provider,
    routes,
    access: {
      admit: (request, url) => admit({ clock, log, metrics, joined }, request, url),
      reserveBudget: costs.reserve,
      settleBudget: costs.settle,
    },
    read: async ({ kind, bytes, url }) => ({
      kind: "done",
      value: readPage(provider, { kind, url, text: Buffer.from(bytes).toString() }),
    }),
    siteOf: (url) => joined.get(new URL(url).hostname.replace(/^www\./, "")) ?? "elsewhere",
  });
  const { ask, stop } = embedded(
    [
      accountActor(),
      domainActor(
        { min_delay_ms: 0, max_concurrency: 9, lease_ms: 600_000 },
        { [HOSTS[0]!]: { min_delay_ms: 1_000, max_concurrency: 2 } },
      ),
      robotsActor({
        egress: fakeEgress(
          Object.fromEntries(
            HOSTS.flatMap((host) => [`https://${host}`, `https://www.${host}`]).map((origin) => [
              `${origin}/robots.txt`,
              rules,
            ]),
          ),
          clock,
        ),
        clock,
        crawler_name: "trawl",
        user_agent: "trawl",
        joined,
      }),
      profilePageActor(siteRequest),
      profileRoutesActor(),
    ],
    { clock, documents, random: seededRandom(1) },
  );
  const service = profilesService({
    clock,
    blobs,
    provider,
    site: {
      name: HOSTS[0]!,
      hosts: HOSTS,
      origin: SITE,
      owns: (url) => HOSTS.some((host) => new URL(url).hostname.replace(/^www\./, "") === host),
    },
    names: nameRules,
    search: search ?? null,
    isConfigured: () => Object.keys(plays).length > 0,
    spentBy,
  });

  /** Lets the virtual clock run until the work has ended, for half an hour at most. */
  async function finished<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    void work.finally(() => (isDone = true)).catch(() => {});
    for (let turn = 0; turn < 18_000 && !isDone; turn++) await clock.advance(100);
    return work;
  }

  let calls = 0;
  /** Runs the virtual clock until the operation has answered. */
  async function run<Op extends ProfilesCall["op"]>(
    op: Op,
    fields: Extract<ProfilesCall, { op: Op }>["fields"],
    { project = "one", lane = "sync" }: { project?: string; lane?: "sync" | "batch" } = {},
  ): Promise<Extract<ProfilesAnswer, { op: Op }>> {
    const caller = {
      project,
      key: "sk_abcdefg",
      lane,
      deadline_ms: clock.now() + 140_000,
      id: `call-${calls++}`,
    };
    const result = service(ask, { op, fields } as ProfilesCall, caller).then(({ answer }) => answer);
    return (await finished(result)) as Extract<StoredProfilesAnswer, { op: Op }> as never;
  }
  return { run, finished, clock, sent, in_flight, documents, blobs, ask, stop };
}
