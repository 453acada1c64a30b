/** Repeated requests of the console: 304 while the answer is equal, for the console alone, in any coding. */
import { expect, test } from "vitest";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const PATH = "/v1/keys";

test("the console is told that an answer has not changed, and gets it anew once it has", async () => {
  const { call, key } = await gatewayHarness();
  const admin = await key({ role: "account_admin" });
  const ask = (headers: Readonly<Record<string, string>>) => call("GET", PATH, { key: admin, headers });
  const marked = { "x-trawl-console": "1", "accept-encoding": "gzip" };
  const first = await ask(marked);
  expect(first.headers).toMatchObject({
    etag: expect.stringMatching(/^W\/"/),
    "cache-control": "no-store",
  });
  const again = { ...marked, "if-none-match": first.headers["etag"]! };
  const same = await ask(again);
  expect([same.status, same.bytes.length, same.headers["etag"]]).toEqual([304, 0, first.headers["etag"]]);
  await key({ label: "Another" });
  const changed = await ask(again);
  expect([changed.status, changed.json.keys.length]).toEqual([200, first.json.keys.length + 1]);

  // Programs get what they got before.
  const plain = await ask({ "if-none-match": first.headers["etag"]! });
  expect([plain.status, plain.headers["etag"]]).toEqual([200, undefined]);
  // A refusal is none of the answers that may be equal.
  const refused = await call("GET", PATH, { key: "sk_unknown", headers: again });
  expect([refused.status, refused.headers["etag"]]).toEqual([401, undefined]);
});
