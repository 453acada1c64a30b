/** A fetch service without sockets: robots.txt is 404 everywhere, routes do as they are told after entering. */
import { account } from "../../actors/accounts/actor.ts";
import { domain } from "../../actors/domain/actor.ts";
import { robots } from "../../actors/domain/robots.actor.ts";
import { fetch } from "../../actors/fetch/actor.ts";
import { climb, type Outside } from "../../actors/fetch/pipeline.ts";
import { lessons } from "../../actors/fetch/host-profile.actor.ts";
import { fetchService } from "../../actors/fetch/service.ts";
import { tasks } from "../../actors/lib/content/extract.ts";
import type { Extracted } from "../../actors/lib/content/extraction-result.ts";
import type { Transport, TransportRequest, Transported } from "../../actors/lib/web/transport.ts";
import { memoryBodies } from "../../cluster/adapters/blobs/blobs.memory.ts";
import { virtualClock } from "../../cluster/adapters/time/clock.virtual.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { fakeEgress } from "../../cluster/adapters/egress/egress.fake.ts";
import { silentMeters } from "../../cluster/adapters/telemetry/meters.silent.ts";
import { seededRandom } from "../../cluster/adapters/time/random.seeded.ts";
import { embedded } from "../../cluster/embedded.ts";
import type { FetchAsk, Tier } from "../../schemas/fetch.ts";
import { ASK } from "./fetch-request.ts";

export const LONG =
  "The boats come in at dawn, and everybody in the harbour knows what each of them has brought. ".repeat(9);
export const HTML = `<html><head><title>Harbour</title></head><body><article><h1>Harbour</h1><p>${LONG}</p></article></body></html>`;

export type Scripted = (request: TransportRequest) => Promise<Transported> | Transported;

export const answer = (body: string, status = 200, headers: Record<string, string> = {}): Transported => ({
  kind: "page",
  final_url: "http://example.org/",
  redirects: [],
  status,
  headers: new Map(Object.entries({ "content-type": "text/html; charset=utf-8", ...headers })),
  body: Buffer.from(body),
  body_kind: "origin",
  ms: 5,
});
export const failure = (reason: string, status: number | null = null): Transported => ({
  kind: "failed",
  reason,
  status,
  redirects: [],
  final_url: null,
  detail: null,
  ms: 5,
});

/** `ways`: what premium routes cost and a project may spend; who reads documents, when it is not done here and now. */
export async function oneService(
  routes: Partial<Record<Tier, Scripted>>,
  ways: Pick<Outside, "prices" | "budgetOf"> & Partial<Pick<Outside, "extract">> = {},
) {
  const clock = virtualClock(Date.UTC(2026, 10, 21));
  const documents = memoryDocuments();
  const bodies = memoryBodies();
  const meters = silentMeters();
  const readPage = await tasks.page();
  const entering =
    (tier: string, scripted: Scripted): Transport =>
    async (request) => {
      const entry = await request.enter(tier === "archive" ? "https://archive.example/" : request.url);
      if (entry.kind === "refused") {
        return { kind: "refused", refusal: entry.refusal, redirects: [], final_url: null, ms: 0 };
      }
      const transported = await scripted(request);
      const paged = transported.kind === "page" ? transported : null;
      const retry_after_s = Number(paged?.headers.get("retry-after") ?? 0) || null;
      entry.left({ status: paged?.status ?? null, retry_after_s });
      return transported;
    };
  const { ask, stop } = embedded(
    [
      account(),
      lessons(),
      domain({ gap_ms: 0, slots: 2, lease_ms: 60_000 }),
      robots({
        egress: fakeEgress({ "http://example.org/robots.txt": { status: 404 } }, clock),
        clock,
        crawler_name: "trawl",
        user_agent: "trawl",
      }),
      fetch({
        climb: climb({
          clock,
          documents,
          bodies,
          meters,
          routes: Object.fromEntries(
            Object.entries(routes).map(([tier, scripted]) => [tier, entering(tier, scripted)]),
          ),
          extract: async (task) => ({ kind: "done", value: (await readPage(task, () => 0)) as Extracted }),
          ...ways,
        }),
        stored: (digest) => documents.get("pages", digest),
        now: () => clock.now(),
      }),
    ],
    { clock, random: seededRandom(1), documents },
  );
  const pages = fetchService({ documents, ask, clock, meters });
  let asked = 0;
  const request = (wishes: Partial<FetchAsk> = {}): FetchAsk => ({
    ...ASK,
    fetch_id: `f${asked++}`,
    deadline_ms: clock.now() + 150_000,
    ...wishes,
  });
  const get = (wishes: Partial<FetchAsk> = {}) => pages.fetch(request(wishes));
  /** As work of a batch asks, until it leaves. */
  const getUntil = (signal: AbortSignal, wishes: Partial<FetchAsk> = {}) =>
    pages.fetchWith(ask, request({ lane: "batch", ...wishes }), signal);
  return { clock, documents, get, getUntil, bodies, ask, stop };
}

/** Lets work that waits for nothing but itself come to its end. */
export async function running<T>(clock: ReturnType<typeof virtualClock>, work: Promise<T>): Promise<T> {
  let done = false;
  void work.finally(() => (done = true)).catch(() => {});
  for (let turn = 0; turn < 200 && !done; turn++) await clock.advance(10);
  return work;
}
