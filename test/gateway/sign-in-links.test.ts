/** Sign-in links to the console: once, for ten minutes, the newest only, and for requests of this machine only. */
import { describe, expect, test } from "vitest";
import { consoleSessions } from "../../gateway/console-sessions.ts";
import { consoleRoutes } from "../../gateway/routes/console.ts";
import { signInLinks } from "../../gateway/sign-in-links.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const KEY = "ak_0123456789abcdefghij";
const MINUTE_MS = 60_000;

describe("a link", () => {
  test("gives its key once", () => {
    const links = signInLinks(() => 0);
    const secret = links.make(KEY);
    expect(links.take(`${secret}x`)).toBeNull();
    expect(links.take("")).toBeNull();
    expect(links.take(secret)).toBe(KEY);
    expect(links.take(secret)).toBeNull();
  });

  test("is over after ten minutes, and void when there is a newer one", () => {
    let now_ms = 0;
    const links = signInLinks(() => now_ms);
    const former = links.make(KEY);
    const secret = links.make(KEY);
    expect(links.take(former)).toBeNull();
    now_ms = 10 * MINUTE_MS;
    expect(links.take(secret)).toBeNull();
    const last = links.make(KEY);
    now_ms += 10 * MINUTE_MS - 1;
    expect(links.take(last)).toBe(KEY);
  });
});

test("only a request of this machine, by its name and without a proxy, is signed in, by a cookie that holds the key", async () => {
  const links = signInLinks(() => 0);
  const { admit } = await gatewayHarness({
    more: ({ secrets, clock }) => consoleRoutes(consoleSessions(secrets, false), clock, links),
  });
  const secret = links.make(KEY);
  const sent = async (address: string, fields: Readonly<Record<string, string>>) => {
    const headers = new Map(Object.entries({ host: "127.0.0.1:8080", "x-trawl-sign-in": secret, ...fields }));
    const head = { method: "POST", path: "/console/sign-in", query: "", headers, address: () => address };
    const admission = admit(head, { aborted: false, signal: new AbortController().signal });
    if (!("answer" in admission)) throw new Error("not admitted");
    return admission.answer({ kind: "whole", bytes: Buffer.alloc(0) });
  };
  for (const [address, fields] of [
    ["192.0.2.7", {}],
    ["127.0.0.1", { "x-forwarded-for": "192.0.2.7" }],
    ["127.0.0.1", { host: "evil.test" }],
    ["127.0.0.1", { "x-trawl-sign-in": "" }],
  ] as const)
    expect((await sent(address, fields)).status).toBe(404);
  const { status, headers } = await sent("127.0.0.1", {});
  expect(status).toBe(204);
  expect(headers!["Set-Cookie"]).toMatch(/^trawl-console=.*HttpOnly; SameSite=Strict/);
  expect(headers!["Set-Cookie"]).not.toContain(KEY);
  expect((await sent("127.0.0.1", {})).status).toBe(404);
});
