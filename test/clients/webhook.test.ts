/** verifyWebhook of @trawl/client over what the service signs. */
import { describe, expect, test } from "vitest";
import { newWebhookSecret, signatureHeaders } from "../../actors/work/callbacks/webhook-signature.ts";
import { TrawlError } from "../../clients/typescript/src/errors.ts";
import { verifyWebhook } from "../../clients/typescript/src/webhook.ts";

const NOW_MS = 1_795_527_600_000;
const BODY = JSON.stringify({ id: "evt_1", type: "company.changed", fields: ["名前"] });
const secret = newWebhookSecret();
const headers = Object.fromEntries(signatureHeaders(secret, "evt_1", BODY, NOW_MS));

const codeOf = async (verified: Promise<unknown>): Promise<string> => {
  const problem: unknown = await verified.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return problem instanceof TrawlError ? problem.code : "none";
};

describe("a delivery", () => {
  test("gives its event, from whatever a server has for headers and body", async () => {
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    for (const each of [headers, lower, new Headers(headers)])
      for (const body of [BODY, new TextEncoder().encode(BODY)])
        expect(await verifyWebhook(each, body, secret, { now: NOW_MS })).toEqual(JSON.parse(BODY));
  });

  test("is known by the old secret and the new one while one replaces the other", async () => {
    const event = await verifyWebhook(headers, BODY, [newWebhookSecret(), secret], { now: NOW_MS });
    expect(event.id).toBe("evt_1");
    const [fresh] = signatureHeaders(newWebhookSecret(), "evt_1", BODY, NOW_MS);
    const both = { "X-Service-Signature": `${fresh![1]},${headers["X-Service-Signature"]!.split(",")[1]}` };
    expect((await verifyWebhook(both, BODY, secret, { now: NOW_MS })).id).toBe("evt_1");
  });

  test.each([
    ["another secret", headers, BODY, newWebhookSecret(), 0],
    ["another body", headers, BODY.replace("evt_1", "evt_2"), secret, 0],
    [
      "another moment",
      { "X-Service-Signature": headers["X-Service-Signature"]!.replace("t=1", "t=2") },
      BODY,
      secret,
      0,
    ],
    ["no signature", {}, BODY, secret, 0],
    [
      "half a signature",
      { "X-Service-Signature": headers["X-Service-Signature"]!.slice(0, -2) },
      BODY,
      secret,
      0,
    ],
    ["a moment six minutes ago", headers, BODY, secret, 360_000],
    ["a moment in six minutes", headers, BODY, secret, -360_000],
  ])("with %s is refused", async (_, its, body, with_secret, later_ms) => {
    expect(await codeOf(verifyWebhook(its, body, with_secret, { now: NOW_MS + later_ms }))).toBe(
      "invalid_signature",
    );
  });
});
