/** A visit to a site by an actor of its own, for simulations of what a fetch does between its slot and its result. */
import { Type } from "typebox";
import { admit } from "../../actors/crawl/fetch/admission.ts";
import { limitsOf, newRun } from "../../actors/crawl/fetch/run.ts";
import { actor, type ActorClient, DEFERRED, type ReplyTo, type WorkContext } from "../../cluster/actor.ts";
import { silentTelemetry } from "../../cluster/adapters/telemetry/telemetry.silent.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { ask, contract, tell } from "../../cluster/contracts/contract.ts";
import { Robots } from "../../schemas/domain.ts";
import { DEFAULT_REQUEST } from "../harness/fetch-request.ts";

/** The longest that a visit of `visitRun` may take. */
export const VISIT_MS = 100_000;
const Visited = Type.Object({ item: Type.String(), result: Type.Union([Type.String(), Type.Null()]) });
type Visit = { item: string; result: string | null };

/** Keyed `<site> <item>`. */
export const Visits = contract(
  "visit",
  { make: ask(Type.Object({ item: Type.String() }), Visited) },
  { made: tell(Visited) },
  { shard_by: "domain" },
);

/** `visit` gives the item's result, null when the site was not asked; it runs once, however many ask for it. */
export const visitor = (
  visit: (site: string, item: string, client: ActorClient, work: WorkContext) => Promise<string | null>,
) =>
  actor(Visits)<ReplyTo<Visit>[]>({
    activate: () => [],
    passivate_after_ms: 60_000,
    on: {
      make(turn, { item }) {
        turn.state.push(turn.deferReply());
        if (turn.state.length > 1) return DEFERRED;
        const site = turn.key.split(" ")[0]!;
        turn.pipeToSelf("made", async (client, work) => ({
          item,
          result: await visit(site, item, client, work),
        }));
        return DEFERRED;
      },
      made(turn, visited) {
        for (const to of turn.state) turn.answer(to, visited);
        turn.state = [];
      },
    },
  });

/** Allows everything: robots.txt is another test's business. */
export const openRobots = () =>
  actor(Robots)<null>({
    activate: () => null,
    passivate_after_ms: 60_000,
    on: { check: () => ({ kind: "allowed", reason: "rules" }), loaded() {} },
  });

/** A fetch of the site's first page, and the real admission of each of its requests. */
export function visitRun(site: string, item: string, clock: Clock, client: ActorClient, work: WorkContext) {
  const began_ms = clock.now();
  const deadline_ms = began_ms + VISIT_MS;
  const request = { ...DEFAULT_REQUEST, fetch_id: item, url: `http://${site}/`, deadline_ms };
  const run = newRun(
    {
      request,
      limits: limitsOf(request),
      attempts: [],
      digest: item,
      stored: Promise.resolve(null),
      stale: null,
    },
    { ask: client, work, signal: work.signal, began_ms, endsAt: () => deadline_ms, room: null },
    { routes: {} },
  );
  const { log, metrics } = silentTelemetry();
  const deps = { clock, log, metrics };
  return { request, run, admit: (url: string) => admit(deps, run, url) };
}
