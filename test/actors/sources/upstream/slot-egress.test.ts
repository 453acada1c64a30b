import { describe, expect, test } from "vitest";
import { sendWithSlot, usableSlot } from "../../../../actors/sources/upstream/slot-egress.ts";
import { fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { virtualClock } from "../../../../cluster/adapters/time/clock.virtual.ts";

describe("the two ways out of the process", () => {
  const request = (url: string) =>
    ({
      url,
      method: "GET",
      headers: [],
      signal: new AbortController().signal,
      ownsKey: () => true,
    }) as const;
  const clock = virtualClock(1_000);
  const slot = { slot_ms: 1_000, not_after_ms: 1_250, episode: 0, is_probe: false };
  /** On the monotonic clock, which begins at 0 here. */
  const usable = { slot, void_ms: 250 };

  test("a request to the upstream needs a slot, which serves once and within its time", async () => {
    const web = fakeEgress({ "https://www.sec.gov/": { status: 200 } });
    const send = sendWithSlot(web, clock);
    const exchangeRequest = request("https://www.sec.gov/");
    expect(await send({ slot: { ...slot }, void_ms: -1 }, exchangeRequest)).toEqual({
      kind: "expired",
      was_sent: false,
    });
    expect(web.hits).toHaveLength(0);
    expect(await send(usable, exchangeRequest)).toMatchObject({ status: 200 });
    await expect(send(usable, exchangeRequest)).rejects.toThrow("the slot was used before");
    expect(web.hits).toHaveLength(1);
  });

  test("a slot of a limiter whose clock differs is used, and not when its answer was on its way for too long", async () => {
    const web = fakeEgress({ "https://www.sec.gov/": { status: 200 } });
    for (const ahead_ms of [-1_500, 1_500])
      for (const [way_ms, kind] of [
        [100, "answered"],
        [300, "expired"],
      ] as const) {
        const time = virtualClock(1_000_000);
        const node = time.node(ahead_ms);
        const asked_ms = node.mono();
        await time.advance(2_000);
        const granted = { kind: "granted", slot: { ...slot }, waited_ms: 2_000, left_ms: 250 } as const;
        await time.advance(way_ms);
        const send = sendWithSlot(web, node);
        expect(await send(usableSlot(granted, asked_ms), request("https://www.sec.gov/"))).toMatchObject({
          kind,
        });
      }
    expect(web.hits).toHaveLength(2);
  });

  test("a slot that is over when the connection is open sends nothing", async () => {
    const late = virtualClock(1_000);
    const web = fakeEgress({ "https://www.sec.gov/": { status: 200 } });
    const send = sendWithSlot(
      {
        ...web,
        exchange: async (exchangeRequest) => (await late.advance(300), web.exchange(exchangeRequest)),
      },
      late,
    );
    expect(await send({ ...usable, slot: { ...slot } }, request("https://www.sec.gov/"))).toEqual({
      kind: "expired",
      was_sent: false,
    });
    expect(web.hits).toHaveLength(0);
  });

  test("a request lost with a pooled connection is not sent twice with one slot", async () => {
    const web = fakeEgress({ "https://www.sec.gov/": { status: 200 } });
    const send = sendWithSlot(
      {
        ...web,
        async exchange(exchangeRequest) {
          exchangeRequest.beforeSend?.();
          return web.exchange(exchangeRequest);
        },
      },
      clock,
    );
    expect(await send({ ...usable, slot: { ...slot } }, request("https://www.sec.gov/"))).toEqual({
      kind: "expired",
      was_sent: true,
    });
    expect(web.hits).toHaveLength(0);
  });
});
