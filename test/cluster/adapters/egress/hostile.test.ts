/** Fetches of each page of the hostile site end in time, by name, and without leaving anything behind. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { TransportResult } from "../../../../actors/lib/web/transport.ts";
import { directTransport } from "../../../../actors/crawl/tiers/adapters/transport.direct.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { seededRandom } from "../../../../cluster/adapters/time/random.seeded.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { HOSTILE, type HostileSite, hostileSite, pem } from "../../../harness/hostile-site.ts";
import { admission, transportRequest } from "../../../harness/transport-request.ts";

const MAX_BYTES = 2 ** 20;
const DEADLINE_MS = 500;
/** Time that the machine may take to notice: two cores shared with everything else. */
const GRACE_MS = 1_500;

const endOf = (result: TransportResult): number | string =>
  result.kind === "page" ? result.status : result.kind === "failed" ? result.reason : result.refusal.error;

describe.each([
  ["plain", false],
  ["over TLS", true],
])("a hostile site, %s", (_, tls) => {
  let site: HostileSite;
  let egress: UndiciEgress;
  let released: number;
  let admitted: number;

  beforeAll(async () => {
    site = await hostileSite({ tls });
    const judge = destination({ allow: ["127.0.0.0/8"] });
    egress = undiciEgress({ judge, ca: [pem("site.cert.pem")] });
  });
  afterAll(async () => {
    await egress.close();
    await site.emptied();
    await site.close();
  });

  const get = (path: string, deadline_ms: number) => {
    admitted = released = 0;
    return fetchOf(path, deadline_ms);
  };
  const fetchOf = (path: string, deadline_ms: number) =>
    directTransport({
      egress,
      clock: systemClock(),
      destination: destination({ allow: ["127.0.0.0/8"] }),
    })(
      transportRequest(`${site.origin}${path}`, {
        max_bytes: MAX_BYTES,
        signal: AbortSignal.timeout(deadline_ms),
        admit: async () => {
          admitted += 1;
          return admission(() => void (released += 1));
        },
      }),
    );

  test.each(Object.entries(HOSTILE).map(([path, { does, ends }]) => ({ path, does, ends })))(
    "that $does ends as $ends",
    async ({ path, ends }) => {
      const began = performance.now();
      // A page that ends by itself gets the time it needs on a busy machine.
      const deadline_ms = ends === "timeout" ? DEADLINE_MS : 10_000;
      const result = await get(path, deadline_ms);
      const took_ms = performance.now() - began;

      expect(endOf(result)).toBe(ends);
      expect(took_ms).toBeLessThan(deadline_ms + GRACE_MS);
      expect(released).toBe(admitted);
      // No exchange is left, and every connection that is still open is idle.
      const { exchanges, connections, idle } = egress.open();
      expect({ exchanges, busy: connections - idle }).toEqual({ exchanges: 0, busy: 0 });

      const next = await get("/next", 10_000);
      expect(next).toMatchObject({ kind: "page", status: 200 });
      expect(next.kind === "page" && next.body.toString()).toBe("<title>/next</title>");
    },
  );

  test("given up on at any moment, many at once, leaves nothing behind and every permit released", async () => {
    const paths = Object.keys(HOSTILE);
    const random = seededRandom(7);
    admitted = released = 0;
    const visitor = async () => {
      for (let visit = 0; visit < 20; visit++) {
        const path = paths[Math.floor(random.next() * paths.length)]!;
        await fetchOf(path, 1 + Math.floor(random.next() * 60));
      }
    };
    await Promise.all(Array.from({ length: 16 }, visitor));
    expect(admitted).toBeGreaterThan(300);
    expect(released).toBe(admitted);
    const { exchanges, connections, idle } = egress.open();
    expect({ exchanges, busy: connections - idle }).toEqual({ exchanges: 0, busy: 0 });
    expect(await get("/next", 10_000)).toMatchObject({ kind: "page", status: 200 });
  });

  test("has no socket left when the way out is closed", async () => {
    await get("/fine", 10_000);
    expect(egress.open().connections).toBeGreaterThan(0);
    await egress.close();
    await site.emptied();
    expect(egress.open()).toEqual({ exchanges: 0, connections: 0, idle: 0 });
    expect(site.sockets()).toBe(0);
  });
});
