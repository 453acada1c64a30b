import { expect, test } from "vitest";
import type { ActorClient } from "../../../../cluster/actor.ts";
import { newWebhookSecret, signatureHeaders } from "../../../../actors/work/callbacks/webhook-signature.ts";
import {
  afterAttempt,
  beginDelivery,
  MAX_DELIVERY_ATTEMPTS,
} from "../../../../actors/work/callbacks/delivery-schedule.ts";
import { notifyWatches } from "../../../../actors/sources/companies/notify-watches.ts";
import {
  COMPANY_DELIVERIES,
  COMPANY_WATCHES,
  firstOfEach,
  type StoredDelivery,
  WATCHED_COMPANIES,
  watchedKey,
} from "../../../../actors/sources/companies/watch.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";

const NOW_MS = Date.UTC(2026, 10, 22);
const delivery: StoredDelivery = {
  watch_id: "wch_0123456789abcdef",
  seq: 1,
  company_id: "cmp_0123456789abcdef",
  fields: ["names"],
  created_ms: NOW_MS,
  attempts: 0,
  next_ms: NOW_MS,
};

test("a delivery is signed so that plain HMAC and Standard Webhooks both verify it", () => {
  const body =
    '{"id":"evt_01","type":"company.changed","created_at":"2023-11-14T22:13:20Z","watch_id":"wch_0123456789abcdef",' +
    '"company_id":"cmp_0123456789abcdef","fields":["names","addresses"],"change_cursor":"c1",' +
    '"record_url":"/v1/companies/cmp_0123456789abcdef"}';
  const headers = signatureHeaders(
    "whsec_0123456789abcdefABCDEF0123456789",
    "evt_01",
    body,
    1_700_000_000_999,
  );
  expect(Object.fromEntries(headers)).toEqual({
    "X-Service-Signature": "t=1700000000,v1=78a76e166350b26c74730aa99292796f55aab26b34a4a56b038d8cbcc6e7d1ad",
    "webhook-id": "evt_01",
    "webhook-timestamp": "1700000000",
    "webhook-signature": "v1,2j1krk0OVoZXo9ZvTzuvbs778SYWkZ9TrptEcWb9ZC4=",
  });
  expect(newWebhookSecret()).toMatch(/^whsec_[A-Za-z0-9]{32}$/);
});

test("a delivery is tried eight times within 24 hours", () => {
  let [waiting, now_ms] = [delivery, NOW_MS];
  const pauses_s: number[] = [];
  for (;;) {
    waiting = beginDelivery(waiting, now_ms);
    const after = afterAttempt(waiting, { status: "http_500", retry_after_s: null }, now_ms, 0);
    if (after.kind === "over") break;
    pauses_s.push((after.delivery.next_ms - now_ms) / 1_000);
    [waiting, now_ms] = [after.delivery, after.delivery.next_ms];
  }
  expect(waiting.attempts).toBe(MAX_DELIVERY_ATTEMPTS);
  expect(pauses_s).toEqual([5, 295, 1_500, 5_400, 10_800, 25_200, 43_200]);
  expect(now_ms - NOW_MS).toBe(24 * 3_600_000);
});

test.each([
  ["delivered_204", { kind: "over", switchesOff: false }],
  ["http_410", { kind: "over", switchesOff: true }],
  ["blocked_destination", { kind: "over", switchesOff: false }],
  ["error_timeout", { kind: "again" }],
])("an attempt that ended with %s", (status, after) => {
  const begun = beginDelivery(delivery, NOW_MS);
  expect(afterAttempt(begun, { status, retry_after_s: null }, NOW_MS, 0)).toMatchObject(after);
});

test("Retry-After is obeyed", () => {
  const begun = beginDelivery(delivery, NOW_MS);
  expect(afterAttempt(begun, { status: "http_503", retry_after_s: 600 }, NOW_MS, 0)).toMatchObject({
    delivery: { next_ms: NOW_MS + 600_000 },
  });
});

test("of each company the oldest delivery goes out, and the others wait for it", () => {
  const other = { ...delivery, company_id: "cmp_1123456789abcdef", seq: 2 };
  expect(firstOfEach([delivery, other, { ...delivery, seq: 3 }]).map(({ seq }) => seq)).toEqual([1, 2]);
});

test("a watch gets the changes after those that its company had when it was made", async () => {
  const documents = memoryDocuments();
  const [company_id, watch_id] = ["cmp_0123456789abcdef", "wch_0123456789abcdef"];
  await COMPANY_WATCHES.put(
    documents,
    watch_id,
    {
      id: watch_id,
      project: "default",
      url: "https://client.example/hook",
      companies: [company_id],
      secret: "whsec_",
      created_ms: NOW_MS,
      last_delivery_ms: null,
      last_status: null,
      is_off: false,
    },
    0,
  );
  // The look-up of the watch has created the company, and the change still waits in the feed.
  await WATCHED_COMPANIES.put(documents, watchedKey(company_id, watch_id), { since_version: 1 }, 0);
  const told: string[] = [];
  const ask = (async (_contract: unknown, key: string) => void told.push(key)) as unknown as ActorClient;
  const change = { company_id, fields: ["names"], merged_into: null, changed_ms: NOW_MS, countries: ["CH"] };
  for (const [seq, type] of [
    [1, "created"],
    [2, "updated"],
  ] as const)
    await notifyWatches(
      { documents, ask, clock: virtualClock(NOW_MS) },
      { ...change, seq, type, version: seq },
    );
  expect(told).toEqual([watch_id]);
  const deliveries = await COMPANY_DELIVERIES.list(documents, { limit: 10 });
  expect(deliveries.map(({ value }) => value.seq)).toEqual([2]);
});
