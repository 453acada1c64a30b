/** A fetch service without sockets: robots.txt is 404 everywhere, routes are scripted functions behind admission. */
import { accountActor } from "../../actors/business/accounts/actor.ts";
import { domainActor } from "../../actors/crawl/domain/actor.ts";
import { robotsActor } from "../../actors/crawl/domain/robots.actor.ts";
import { robotsCopies } from "../../actors/crawl/domain/robots-copies.ts";
import { fetchActor } from "../../actors/crawl/fetch/actor.ts";
import { formatsDeriver } from "../../actors/crawl/fetch/formats.ts";
import { rereader } from "../../actors/crawl/fetch/reread.ts";
import { loadPages } from "../../actors/crawl/fetch/page-store.ts";
import { fetchPipeline } from "../../actors/crawl/fetch/pipeline.ts";
import { premiumCosts, type Spending } from "../../actors/crawl/fetch/premium.ts";
import { modelReader } from "../../actors/crawl/fetch/model/read-by-model.ts";
import { modelTurns } from "../../actors/crawl/fetch/model/turns.ts";
import type { PipelineDeps } from "../../actors/crawl/fetch/run.ts";
import { hostProfileActor } from "../../actors/crawl/fetch/host-profile.actor.ts";
import { fetchService } from "../../actors/crawl/fetch/service.ts";
import { loadDetector } from "../../actors/reading/article/language.ts";
import { tasks } from "../../actors/reading/extract.ts";
import type { Transport, TransportRequest, TransportResult } from "../../actors/lib/web/transport.ts";
import { memoryBlobs } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { virtualClock, type VirtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { Egress } from "../../cluster/ports/egress.ts";
import type { FetchRequest, UnsealedFetch } from "../../schemas/fetch.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import { DEFAULT_REQUEST } from "./fetch-request.ts";
import { SAME_SECRETS } from "./secrets.ts";
import { flakyDocuments } from "./flaky-documents.ts";
import { type Tier } from "../../schemas/tier-table.ts";

export const LONG =
  "The boats come in at dawn, and everybody in the harbour knows what each of them has brought. ".repeat(9);
export const HTML = `<html><head><title>Harbour</title></head><body><article><h1>Harbour</h1><p>${LONG}</p></article></body></html>`;

export type Scripted = (request: TransportRequest) => Promise<TransportResult> | TransportResult;

export const answer = (
  body: string,
  status = 200,
  headers: Record<string, string> = {},
): TransportResult => ({
  kind: "page",
  final_url: "http://example.org/",
  redirects: [],
  status,
  headers: new Map(Object.entries({ "content-type": "text/html; charset=utf-8", ...headers })),
  body: Buffer.from(body),
  body_kind: "origin",
  ms: 5,
});
export const failure = (reason: string, status: number | null = null): TransportResult => ({
  kind: "failed",
  reason,
  status,
  redirects: [],
  final_url: null,
  detail: null,
  ms: 5,
});

/** Real routes on the service's clock, and the web in which robots.txt is looked for. */
export interface RealRoutes {
  readonly transports: Partial<Record<Tier, Transport>>;
  readonly egress: Egress;
}

type ScriptedDeps = Parameters<typeof premiumCosts>[0] &
  Partial<
    Pick<PipelineDeps, "extract" | "backlog" | "reservedHosts" | "sources" | "recent_links" | "keepsRights">
  > & {
    readonly model?: Omit<NonNullable<Parameters<typeof modelReader>[0]["model"]>, "turns">;
  };
const UNLIMITED: Spending = { reserve: async () => true, settle: async () => {} };

/**
 * `given`: prices and budgets of premium routes; the extraction, when it is not done in this process. `openReal`: routes
 * that are not scripted.
 */
export async function oneService(
  routes: Partial<Record<Tier, Scripted>>,
  given: ScriptedDeps | ((clock: VirtualClock) => ScriptedDeps) = {},
  openReal?: (clock: VirtualClock) => RealRoutes,
) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const { prices, spending, model, ...deps } = typeof given === "function" ? given(clock) : given;
  const costs = premiumCosts({ ...(prices && { prices }), ...(spending && { spending }) });
  const real = openReal?.(clock);
  const documents = flakyDocuments();
  const blobs = memoryBlobs();
  const telemetry = silentTelemetry();
  const { metrics, log } = telemetry;
  const readPage = await tasks.page();
  // Modules are loaded before time moves: virtual time passes while a busy machine reads them.
  await loadDetector();
  await import("../../actors/reading/dom/read-wanted.ts");
  const extract: PipelineDeps["extract"] =
    deps.extract ?? (async (task) => ({ kind: "done", value: await readPage(task, () => 0) }));
  const admitting =
    (tier: string, scripted: Scripted): Transport =>
    async (request) => {
      const admission = await request.admit(tier === "archive" ? "https://archive.example/" : request.url);
      if (admission.kind === "refused") {
        return { kind: "refused", refusal: admission.refusal, redirects: [], final_url: null, ms: 0 };
      }
      const result = await scripted(request);
      const paged = result.kind === "page" ? result : null;
      const retry_after_s = Number(paged?.headers.get("retry-after") ?? 0) || null;
      admission.release({ status: paged?.status ?? null, retry_after_s });
      return result;
    };
  const copies = robotsCopies();
  const { ask, stop } = embedded(
    [
      accountActor(),
      hostProfileActor(),
      domainActor({ min_delay_ms: 0, max_concurrency: 2, lease_ms: 60_000 }),
      robotsActor({
        egress: real?.egress ?? fakeEgress({ "http://example.org/robots.txt": { status: 404 } }, clock),
        clock,
        crawler_name: "trawl",
        user_agent: "trawl",
        copies,
      }),
      fetchActor({
        runFetch: fetchPipeline({
          clock,
          documents,
          blobs,
          metrics,
          log,
          robotsByCopy: copies.answerFor,
          routes: {
            ...Object.fromEntries(
              Object.entries(routes).map(([tier, scripted]) => [tier, admitting(tier, scripted)]),
            ),
            ...real?.transports,
          },
          extract,
          costs,
          ...deps,
        }),
        deriveFormats: formatsDeriver({ clock, documents, blobs, extract }),
        reread: rereader({ clock, blobs, extract }),
        ...(model && {
          readByModel: modelReader({
            clock,
            blobs,
            metrics,
            log,
            model: { ...model, turns: modelTurns(clock, 1) },
            spending: spending ?? UNLIMITED,
          }),
        }),
        loadStored: (digest, project) => loadPages(documents, digest, project),
        now: () => clock.now(),
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  const pages = fetchService({ secrets: SAME_SECRETS, documents, ask, clock, metrics, log });
  let asked = 0;
  const request = (options: Partial<FetchRequest> = {}): FetchRequest => ({
    ...DEFAULT_REQUEST,
    fetch_id: `f${asked++}`,
    deadline_ms: clock.now() + 150_000,
    ...options,
  });
  const get = (options: Partial<UnsealedFetch> = {}) => pages.fetch({ ...request(options) });
  /** As work of a batch asks, until it leaves. */
  const getUntil = (signal: AbortSignal, options: Partial<FetchRequest> = {}) =>
    pages.fetchWith(ask, request({ lane: "batch", ...options }), signal);
  return { clock, documents, get, getUntil, bodies: blobs, ask, stop };
}

/** Lets work that waits for nothing but itself come to its end. */
export async function running<T>(clock: VirtualClock, work: Promise<T>, most_turns = 200): Promise<T> {
  let done = false;
  void work.finally(() => (done = true)).catch(() => {});
  for (let turn = 0; turn < most_turns && !done; turn++) await clock.advance(10);
  return work;
}
