/** trawl keys: an account admin manages keys through the service. */
import { describe, expect, test } from "vitest";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";

const POLL = { timeout: 30_000, interval: 100 };

describe.each(SETUPS)("trawl keys, $setup", ({ start }) => {
  const { service } = scenario(start);

  test("makes, changes, rotates and revokes a key, which the service then refuses", async () => {
    const { key: admin } = await service.trawl("key", "create", "--project", "default", "--admin");
    const keys = (...words: string[]) => service.trawl("keys", ...words, "--key", admin);
    const status = async (key: string) => (await service.call("GET", "/v1/quota", { key })).status;
    const old = await keys("create", "--label", "nightly", "--quotas", '{"fetch": 5}', "--no-paid");
    expect(old).toMatchObject({ label: "nightly", quotas: { fetch: 5 }, paid_fetches: false });
    expect(await status(old.key)).toBe(200);
    expect(await keys("change", old.prefix, "--rate-limit-rps", "3", "--clear", "label")).toMatchObject({
      label: null,
      rate_limit_rps: 3,
      quotas: { fetch: 5 },
    });
    const made = await keys("rotate", old.prefix);
    expect(made).toMatchObject({ quotas: { fetch: 5 }, rate_limit_rps: 3, paid_fetches: false });
    await expect.poll(() => status(old.key), POLL).toBe(401);
    expect(await status(made.key)).toBe(200);
    await keys("revoke", made.prefix);
    await expect.poll(() => status(made.key), POLL).toBe(401);
    const { events } = await keys("events");
    const ours = events.filter(({ by }: { by: string }) => by === admin.slice(0, 10));
    expect(ours.map(({ action }: { action: string }) => action)).toEqual([
      "revoked",
      "rotated",
      "changed",
      "created",
    ]);
  });
});
