/** Exchanges that the route `direct` keeps, on a site whose bytes are written by hand. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { TransportRequest } from "../../../../actors/lib/web/transport.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { sha256Of } from "../../../../cluster/ports/blobs.ts";
import type { KeptExchange } from "../../../../schemas/archives.ts";
import { replyOf, resultOf } from "../../../../actors/crawl/tiers/tier-reply.ts";
import { answer, type HostileSite, hostileSite, pem } from "../../../harness/hostile-site.ts";
import { transportRequest } from "../../../harness/transport-request.ts";

const rule = destination({ allow: ["127.0.0.0/8"] });
const ODD =
  "HTTP/1.1 200 Quite fine\r\nx-b: 2\r\nX-A: caf\u00e9\r\nSet-Cookie: a=1\r\nX-B: 3\r\nset-cookie: b=2\r\n";

let site: HostileSite;
let secure: HostileSite;
let egress: UndiciEgress;
beforeAll(async () => {
  const plays = {
    "/odd": Buffer.from(`${ODD}Content-Length: 5\r\n\r\nwhole`, "latin1"),
    "/moved": answer("302 Found", ["Location: /odd"], Buffer.alloc(5_000, "m")),
    "/broken": "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort",
    "/long": answer("200 OK", [], Buffer.alloc(30_000, "l")),
  };
  const ends = Object.fromEntries(
    Object.entries(plays).map(([path, bytes]) => [
      path,
      (socket: { end: (bytes: string | Buffer) => unknown }) => void socket.end(bytes),
    ]),
  );
  site = await hostileSite({ plays: ends });
  secure = await hostileSite({ tls: true, plays: ends });
  egress = undiciEgress({ judge: rule, ca: [pem("site.cert.pem")] });
});
afterAll(async () => {
  await egress.close();
  await Promise.all([site.close(), secure.close()]);
});

async function kept(url: string, over: Partial<TransportRequest> = {}): Promise<readonly KeptExchange[]> {
  const transport = directTransport({ egress, clock: systemClock(), destination: rule });
  const result = await transport(transportRequest(url, { archive: true, ...over }));
  // Exchanges from a tier on another node are equal.
  expect(resultOf(replyOf(result)).exchanges).toEqual(result.exchanges);
  return result.exchanges ?? [];
}

test("keeps the fields of an answer in order and case, each of them, with its bytes", async () => {
  const [exchange] = await kept(`${site.origin}/odd`);
  expect(exchange!.response).toEqual({
    status: 200,
    reason: "Quite fine",
    fields: [
      ["x-b", "2"],
      ["X-A", "caf\u00e9"],
      ["Set-Cookie", "a=1"],
      ["X-B", "3"],
      ["set-cookie", "b=2"],
      ["Content-Length", "5"],
    ],
    body: { sha256: sha256Of(Buffer.from("whole")), bytes: 5 },
    truncated: null,
  });
  expect(exchange).toMatchObject({ address: "127.0.0.1", protocol: "http/1.1", tls: null });
});

test("keeps the fields of a request as the site reads them", async () => {
  const [exchange] = await kept(`${site.origin}/odd`);
  expect(exchange!.request.fields.flat()).toEqual(site.requests.at(-1)!.raw);
});

test("keeps redirects with the first bytes of their bodies, and the connection of each", async () => {
  const [moved, answered] = await kept(`${secure.origin}/moved`);
  expect(moved).toMatchObject({
    url: `${secure.origin}/moved`,
    tls: { version: "TLSv1.3", certificate_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    response: {
      status: 302,
      truncated: "length",
      body: { base64: Buffer.alloc(4_096, "m").toString("base64") },
    },
  });
  expect(answered).toMatchObject({ url: `${secure.origin}/odd`, response: { status: 200 } });
});

test("says why a body is not there", async () => {
  expect(await kept(`${site.origin}/broken`)).toMatchObject([
    { response: { status: 200, body: null, truncated: "disconnect" } },
  ]);
  expect(await kept(`${site.origin}/long`, { max_bytes: 10_000 })).toMatchObject([
    { response: { status: 200, body: null, truncated: "length" } },
  ]);
});

test("leaves credentials of the caller out, and keeps nothing unasked", async () => {
  const [exchange] = await kept(`${site.origin}/odd`, { authorization: "Basic cGxhbnRlZA==" });
  expect(site.requests.at(-1)!.headers.get("authorization")).toBe("Basic cGxhbnRlZA==");
  expect(exchange!.request.omitted).toEqual(["Authorization"]);
  expect(JSON.stringify(exchange)).not.toContain("cGxhbnRlZA");
  expect(await kept(`${site.origin}/odd`, { archive: false })).toEqual([]);
});
