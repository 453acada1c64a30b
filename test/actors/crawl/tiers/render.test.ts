/** The route `proxy_render`: a rendering service on loopback, and the requests to the public services. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { destination } from "../../../../actors/lib/web/destination.ts";
import type { HopRefusal } from "../../../../actors/lib/web/transport.ts";
import { renderTransport } from "../../../../actors/crawl/tiers/adapters/transport.render.ts";
import { problemOf, renderService, WAIT_MS } from "../../../../actors/crawl/tiers/render-services.ts";
import { systemClock } from "../../../../cluster/adapters/time/clock.system.ts";
import { type UndiciEgress, undiciEgress } from "../../../../cluster/adapters/egress/egress.undici.ts";
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import { permitLog } from "../../../harness/fake-permit.ts";
import { freePort } from "../../../harness/free-port.ts";

const PAGE = "https://shop.example/item?id=1";
const HTML = "<html><title>Preis</title><p>Für 5 €</p></html>";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

let service: Server;
let origin = "";
let asked: Asked[] = [];
/** The service's next answer; null: it hangs. */
let says: { status?: number; headers?: Record<string, string>; body: unknown } | null = null;
let egress: UndiciEgress;

beforeAll(async () => {
  service = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const body: unknown = JSON.parse(Buffer.concat(pieces).toString());
      asked.push({ method: request.method!, path: request.url!, headers: request.headers, body });
      if (!says) return;
      response.writeHead(says.status ?? 200, says.headers);
      response.end(typeof says.body === "string" ? says.body : JSON.stringify(says.body));
    });
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  egress = undiciEgress({ judge: onlyTo(new URL(origin)) });
});
afterAll(async () => {
  await egress.close();
  service.closeAllConnections();
  service.close();
});
beforeEach(() => {
  asked = [];
});

const route = (render_url = `${origin}/render`, way = egress) =>
  renderTransport({
    egress: way,
    clock: systemClock(),
    destination: destination(),
    render_url,
    render_key: "the-key",
  });
const rendered = (more: object = {}) => ({
  body: { status: 200, html: HTML, headers: { "set-cookie": "a=1" }, final_url: PAGE, ...more },
});

describe("a rendering service", () => {
  test("is asked for the page with the key, after a permit of the page's domain", async () => {
    says = rendered();
    const { go, admitted, released } = permitLog();
    await go(route(), PAGE, { country: "DE" });
    expect(asked).toMatchObject([
      {
        method: "POST",
        path: "/render",
        headers: { authorization: "Bearer the-key", "content-type": "application/json" },
        body: { url: PAGE, country: "DE", wait: WAIT_MS },
      },
    ]);
    expect(admitted).toEqual([PAGE]);
    expect(released).toMatchObject([{ status: 200, retry_after_s: null }]);
  });

  test("answers with a document, without the origin's fields", async () => {
    says = rendered({ final_url: "https://shop.example/item/1#x", difficulty: "high" });
    const page = await permitLog().go(route(), PAGE);
    expect(page).toMatchObject({
      kind: "page",
      status: 200,
      final_url: "https://shop.example/item/1",
      redirects: [],
      body: Buffer.from(HTML),
      body_kind: "rendered_dom",
      detail: "high",
    });
    expect(page.kind === "page" && page.headers.size).toBe(0);
  });

  test.each([404, 403, 503])("reports the page's status: %i", async (status) => {
    says = rendered({ status });
    const { go, released } = permitLog();
    expect(await go(route(), PAGE)).toMatchObject({ kind: "page", status });
    expect(released).toMatchObject([{ status }]);
  });

  test.each<[string, unknown, object]>([
    ["no difficulty", {}, {}],
    ["an unknown difficulty", { difficulty: "impossible" }, {}],
    ["no final address", { final_url: null }, { final_url: PAGE }],
    ["a final address that is none", { final_url: "about:blank" }, { final_url: PAGE }],
  ])("may answer %s", async (_, more, expected) => {
    says = rendered(more as object);
    const page = await permitLog().go(route(), PAGE);
    expect(page).toMatchObject({ kind: "page", ...expected });
    expect(page).not.toHaveProperty("detail");
  });

  test.each<[string, typeof says, string]>([
    ["is over budget", { status: 402, body: "" }, "provider_over_budget"],
    [
      "is asked too often",
      { status: 429, headers: { "retry-after": "9" }, body: "" },
      "provider_rate_limited",
    ],
    ["does not know the key", { status: 401, body: "" }, "provider_refused"],
    ["forbids it", { status: 403, body: "" }, "provider_refused"],
    ["breaks", { status: 500, body: "" }, "provider_error"],
    [
      "moved",
      { status: 302, headers: { location: "https://elsewhere.example/" }, body: "" },
      "provider_error",
    ],
    ["took too long", { status: 504, body: "" }, "timeout"],
    ["answers garbage", { body: "<html>" }, "provider_bad_answer"],
    ["answers half of it", { body: JSON.stringify(rendered().body).slice(0, -3) }, "provider_bad_answer"],
    ["answers something else", { body: { html: HTML } }, "provider_bad_answer"],
    ["answers a status that is none", rendered({ status: 42 }), "provider_bad_answer"],
    ["answers an html that is none", rendered({ html: null }), "provider_bad_answer"],
    ["answers null", { body: null }, "provider_bad_answer"],
    ["answers more than was asked for", rendered({ html: "x".repeat(2_000) }), "too_large"],
    ["answers without end", { body: "x".repeat(100_000) }, "too_large"],
  ])(
    "that %s is reported so; the page's host is not blamed, and the permit is released",
    async (_, next, reason) => {
      says = next;
      const { go, released } = permitLog();
      const failed = await go(route(), PAGE, { max_bytes: 1_000 });
      expect(failed).toMatchObject({ kind: "failed", reason, status: null, final_url: null });
      expect(JSON.stringify(failed)).not.toContain("the-key");
      expect(released).toHaveLength(1);
    },
  );

  test("that hangs is left when the caller's deadline ends", async () => {
    says = null;
    const { go, released } = permitLog();
    const failed = await go(route(), PAGE, { signal: AbortSignal.timeout(200) });
    expect(failed).toMatchObject({ kind: "failed", reason: "timeout" });
    expect(released).toHaveLength(1);
    expect(egress.open()).toMatchObject({ exchanges: 0 });
  });

  test("that is not there is provider_unreachable", async () => {
    const closedAddress = `http://127.0.0.1:${await freePort()}/`;
    const way = undiciEgress({ judge: onlyTo(new URL(closedAddress)) });
    expect(await permitLog().go(route(closedAddress, way), PAGE)).toMatchObject({
      reason: "provider_unreachable",
    });
    await way.close();
  });

  test.each(["http://127.0.0.1/", "http://169.254.169.254/", "http://localhost/", "http://10.0.0.1/"])(
    "is never sent to %s",
    async (url) => {
      const { go, admitted } = permitLog();
      expect(await go(route(), url)).toMatchObject({
        kind: "refused",
        refusal: { error: "blocked_destination" },
      });
      expect([admitted, asked]).toEqual([[], []]);
    },
  );

  test("is not asked without a permit, nor for a caller that cancelled", async () => {
    const refusal: HopRefusal = {
      error: "domain_busy",
      step: "politeness",
      reason: "domain_busy",
      retry_after_s: 5,
      detail: null,
    };
    expect(await permitLog(() => refusal).go(route(), PAGE)).toMatchObject({ kind: "refused", refusal });
    expect(await permitLog().go(route(), PAGE, { signal: AbortSignal.abort() })).toMatchObject({
      reason: "timeout",
    });
    expect(asked).toEqual([]);
  });

  test("is all its way out leads to", async () => {
    const exchange = await egress.exchange({
      url: origin.replace(/\d+$/, String(await freePort())),
      method: "GET",
      headers: [],
      signal: AbortSignal.timeout(5_000),
    });
    expect(exchange).toMatchObject({ kind: "failed", problem: "blocked_destination" });
  });
});

describe("a service is known", () => {
  test.each([
    ["https://api.zyte.com/v1/extract", "zyte"],
    ["https://api.firecrawl.dev/v2/scrape", "firecrawl"],
    ["http://firecrawl.lan:3002/v2/scrape#firecrawl", "firecrawl"],
    ["https://api.zyte.com/v1/extract#trawl", "trawl"],
    ["https://render.example/", "trawl"],
    ["https://render.example/#nothing", "trawl"],
  ])("%s as %s", (url, name) => {
    expect(renderService(url).name).toBe(name);
  });

  test("by its fragment, which is not sent", async () => {
    says = { body: { success: true, data: { rawHtml: HTML, metadata: { statusCode: 200, url: PAGE } } } };
    const page = await permitLog().go(route(`${origin}/v2/scrape#firecrawl`), PAGE, { country: "de" });
    expect(page).toMatchObject({ kind: "page", status: 200, body: Buffer.from(HTML), final_url: PAGE });
    expect(asked).toMatchObject([
      {
        path: "/v2/scrape",
        headers: { authorization: "Bearer the-key" },
        body: { url: PAGE, formats: ["rawHtml"], location: { country: "DE" }, maxAge: 0 },
      },
    ]);
  });

  test("and is asked in its own format", async () => {
    says = { body: { url: PAGE, statusCode: 404, browserHtml: HTML } };
    const page = await permitLog().go(route(`${origin}/v1/extract#zyte`), PAGE);
    expect(page).toMatchObject({ kind: "page", status: 404, final_url: PAGE });
    expect(asked).toMatchObject([
      { headers: { authorization: `Basic ${Buffer.from("the-key:").toString("base64")}` } },
    ]);
    expect(asked[0]!.body).toEqual({ url: PAGE, browserHtml: true });
  });

  test.each([
    ["zyte", 403, "provider_over_budget"],
    ["zyte", 429, "provider_rate_limited"],
    ["zyte", 503, "provider_rate_limited"],
    ["zyte", 520, "provider_failed"],
    ["zyte", 500, "provider_error"],
    ["firecrawl", 402, "provider_over_budget"],
    ["firecrawl", 408, "timeout"],
    ["firecrawl", 403, "provider_refused"],
    ["trawl", 520, "provider_error"],
  ])("of %s a %i is %s", (name, status, problem) => {
    expect(problemOf(status, renderService(`https://any.example/#${name}`))).toBe(problem);
  });

  test.each([
    ["zyte", { url: PAGE, statusCode: 200 }],
    ["firecrawl", { success: false, error: "x" }],
    ["firecrawl", { success: true, data: { metadata: { statusCode: 200 } } }],
  ])("of %s %j is no answer", (name, answer) => {
    expect(renderService(`https://any.example/#${name}`).read(answer)).toBeNull();
  });
});
