/** Queue lag in the public status, on a virtual clock: what a fetch and a search need first waits for a document store that does not answer. */
import { expect, test } from "vitest";
import { domainActor } from "../../../../actors/crawl/domain/actor.ts";
import { fetchStatus } from "../../../../actors/crawl/fetch/feature/status.ts";
import { searchInstancesActor } from "../../../../actors/sources/search/instances.actor.ts";
import { searchStatus } from "../../../../actors/sources/search/feature/status.ts";
import { statusBoardActor } from "../../../../actors/business/status/board.actor.ts";
import { FETCH, SEARCH } from "../../../../actors/business/status/components.ts";
import { NO_NOTICES } from "../../../../actors/business/status/evaluate.ts";
import { mergeFigures } from "../../../../actors/business/status/figures.ts";
import { watchStatus } from "../../../../actors/business/status/watch-status.ts";
import { silentTelemetry } from "../../../../cluster/adapters/telemetry/telemetry.silent.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";
import { embedded } from "../../../../cluster/embedded.ts";
import { Domain } from "../../../../schemas/domain.ts";
import { Instances, INSTANCES_KEY } from "../../../../schemas/search.ts";
import { flakyDocuments } from "../../../harness/flaky-documents.ts";

const PERIOD_MS = 15_000;
const SECOND_MS = 1_000;

test("a message that waits in front of fetches or searches is lag, until it is processed", async () => {
  const clock = virtualClock(Date.UTC(2026, 10, 23));
  const documents = flakyDocuments();
  const telemetry = silentTelemetry();
  const limits = { min_delay_ms: 500, max_concurrency: 2, lease_ms: 60_000 };
  const actors = [domainActor(limits), searchInstancesActor(["one"]), statusBoardActor(PERIOD_MS)];
  const cluster = embedded(actors, { clock, random: seededRandom(1), documents });
  const { ask, stats: actorStats } = cluster;
  const search = searchStatus({ clock, ask, actorStats, hasEngine: true, hasFallback: false }).part;
  const fetch = fetchStatus(clock, [], actorStats).part;
  const watch = watchStatus({
    ...telemetry,
    clock,
    ask,
    period_ms: PERIOD_MS,
    node: "one",
    specs: [SEARCH, FETCH],
    isWorker: true,
    isGateway: true,
    figures: () => mergeFigures([fetch.figures!(), search.figures!()]),
    clusterFigures: search.clusterFigures!,
    checkStores: async () => ({}),
    readNotices: async () => NO_NOTICES,
  });
  watch.start();
  const shown = async (ms: number): Promise<readonly string[]> => {
    await clock.advance(ms);
    return watch.current().components.map(({ status, reasons }) => [status, ...reasons].join(" "));
  };
  const both = (status: string): readonly string[] => [status, status];

  expect(await shown(2 * PERIOD_MS)).toEqual(both("operational"));
  documents.mode = "away";
  void ask(Domain, "example.org", "setCrawlDelay", { origin: "https://example.org", crawl_delay_ms: 700 });
  void ask(Instances, INSTANCES_KEY, "report", { instance: "one", failure: "http_500", retry_after_s: 5 });
  expect(await shown(3 * PERIOD_MS)).toEqual(both("degraded queue_lag"));
  expect(await shown(45 * SECOND_MS)).toEqual(both("partial_outage queue_lag"));
  expect(await shown(60 * SECOND_MS)).toEqual(both("major_outage queue_lag"));
  documents.mode = "here";
  expect(await shown(2 * PERIOD_MS)).toEqual(both("operational"));
});
