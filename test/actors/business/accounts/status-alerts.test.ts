/** Webhooks of scope status: who hears of which incident and window, how often, and who does not. */
import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createCustomer, createProject } from "../../../../actors/business/accounts/keys.ts";
import { recentNotices } from "../../../../actors/business/status/announced.ts";
import {
  openIncident,
  readNotices,
  scheduleMaintenance,
  updateIncident,
} from "../../../../actors/business/status/notices.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { gatewayHarness } from "../../../harness/gateway-harness.ts";

const HOOK = "https://client.example/hook";
const OTHER = "https://other.example/hook";
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SLOW = {
  title: "Slow fetches",
  message: "We look at it",
  status: "investigating",
  impact: "degraded",
  components: ["fetch"],
} as const;

async function service() {
  const gateway = await gatewayHarness({ web: { [HOOK]: { status: 204 }, [OTHER]: { status: 204 } } });
  const { documents, clock } = gateway;
  const writer = () => ({ documents, now_ms: clock.now(), random: seededRandom(1) });
  /** Does the minute's work of a node, on two nodes. */
  const announce = async () => {
    for (const _node of [1, 2])
      await gateway.announceNotices(recentNotices(await readNotices(documents), clock.now()), clock.now());
    await clock.advance(MINUTE_MS);
  };
  let looked_at = 0;
  /** Alerts that have arrived since the last call. */
  const received = () => {
    const hits = gateway.egress.hits.slice(looked_at);
    looked_at += hits.length;
    return hits.map(({ request }) => ({ url: request.url, ...JSON.parse(request.body!.toString()) }));
  };
  const subscribe = (url: string, key?: string) =>
    gateway.call("POST", "/v1/alerts", {
      body: { url, scope: "status" },
      ...(key !== undefined && { key }),
    });
  return { ...gateway, writer, announce, received, subscribe };
}

test("an incident is told at each update, once to each webhook of every customer that was there before", async () => {
  const { key, documents, clock, writer, announce, received, subscribe, call, egress } = await service();
  await createCustomer(documents, { name: "acme", external: true, currency: "EUR" }, clock.now());
  await createProject(documents, { customer: "acme", name: "acme-web" }, clock.now());
  const theirs = await key({ project: "acme-web" });
  const { status, json: hook } = await subscribe(HOOK);
  expect([status, hook.scope, hook.thresholds]).toEqual([201, "status", []]);
  expect((await subscribe(OTHER, theirs)).status).toBe(201);
  await clock.advance(MINUTE_MS);

  const incident = await openIncident(writer(), SLOW);
  await announce();
  const { request } = egress.hits.find(({ url }) => url === HOOK)!;
  const fields = Object.fromEntries(request.headers);
  const [t, v1] = fields["X-Service-Signature"]!.split(",").map((part) => part.split("=")[1]!);
  expect(createHmac("sha256", hook.secret).update(`${t}.${request.body!.toString()}`).digest("hex")).toBe(v1);
  const first = received();
  expect(new Set(first.map(({ url }) => url))).toEqual(new Set([HOOK, OTHER]));
  expect(first).toHaveLength(2);
  expect(first[0]).toMatchObject({ type: "status.incident", incident, maintenance: null });
  await announce();
  expect(received()).toEqual([]);

  const younger = await subscribe("https://client.example/younger");
  expect(younger.status).toBe(201);
  await announce();
  expect(received()).toEqual([]);

  await call("DELETE", `/v1/alerts/${hook.id}`);
  await call("DELETE", `/v1/alerts/${younger.json.id}`);
  await updateIncident(writer(), incident.id, { message: "It was a cable", status: "resolved" });
  await announce();
  expect(received().map(({ url, incident: { status: told } }) => [url, told])).toEqual([[OTHER, "resolved"]]);
});

test("a window is told when it is announced, when it begins and when it ends", async () => {
  const { clock, writer, announce, received, subscribe } = await service();
  await subscribe(HOOK);
  await clock.advance(MINUTE_MS);
  const now_ms = clock.now();
  await scheduleMaintenance(writer(), {
    title: "New disks",
    message: "Fetches wait",
    starts_ms: now_ms + HOUR_MS,
    ends_ms: now_ms + 2 * HOUR_MS,
    components: [],
  });
  const told = () => received().map(({ type, maintenance }) => [type, maintenance.status]);
  await announce();
  expect(told()).toEqual([["status.maintenance", "scheduled"]]);
  await clock.advance(HOUR_MS);
  await announce();
  expect(told()).toEqual([["status.maintenance", "in_progress"]]);
  await clock.advance(HOUR_MS);
  await announce();
  expect(told()).toEqual([["status.maintenance", "completed"]]);
  await announce();
  expect(told()).toEqual([]);
});

test("what is older than a day is no news: a service that was away does not tell it", async () => {
  const { clock, documents, writer, received, subscribe, announceNotices } = await service();
  await subscribe(HOOK);
  await clock.advance(MINUTE_MS);
  await openIncident(writer(), SLOW);
  await clock.advance(25 * HOUR_MS);
  await announceNotices(recentNotices(await readNotices(documents), clock.now()), clock.now());
  await clock.advance(MINUTE_MS);
  expect(received()).toEqual([]);
});

test("thresholds are of allowances: with scope status they are refused by name", async () => {
  const { call } = await service();
  const { status, json } = await call("POST", "/v1/alerts", {
    body: { url: HOOK, scope: "status", thresholds: [80] },
  });
  expect([status, json.detail[0].loc]).toEqual([422, ["body", "thresholds"]]);
});
