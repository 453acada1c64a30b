/** /health, /ready, /metrics, / and /openapi.json. */
import { existsSync, readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { changelogPage, pageFiles } from "../../ops/page-files.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";
import { API_DOCUMENTS } from "../harness/api-documents.ts";

const fine = { ping: async () => {}, gates: true };
const broken = { ping: () => Promise.reject(new Error("mongodb://user:pass@10.0.0.7")), gates: true };

const operations = (document: any) =>
  Object.entries<Record<string, any>>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { operationId, security }]) =>
          `${operationId} ${method.toUpperCase()} ${path}${security.length > 0 ? " key" : ""}`,
      ),
    )
    .toSorted();

describe("/ready", () => {
  test.each([
    [{ documents: fine }, false, 200, { documents: "ok" }],
    [{ documents: broken, bodies: fine }, false, 503, { documents: "unavailable", bodies: "ok" }],
    [
      { documents: fine, bodies: { ...broken, gates: false } },
      false,
      200,
      { documents: "ok", bodies: "unavailable" },
    ],
    [{ documents: fine }, true, 503, { documents: "ok" }],
    [
      { documents: fine, search: { ping: null, gates: true } },
      false,
      200,
      { documents: "ok", search: "not_configured" },
    ],
  ])("%j, draining %s: %i", async (checks, draining, status, expected) => {
    const { call } = await gatewayHarness({ checks, draining: () => draining });
    const reply = await call("GET", "/ready", { key: null });
    expect([reply.status, reply.json]).toEqual([
      status,
      {
        status: status === 200 ? "ready" : "not_ready",
        checks: expected,

        version: "0.0.0",
        http_server: "HTTP by the test",
      },
    ]);
    expect(reply.bytes.toString()).not.toContain("pass");
  });

  test("tells the operator what to change, and is ready all the same", async () => {
    const { call } = await gatewayHarness({ warnings: () => ["The browser runs without its sandbox: no"] });
    const reply = await call("GET", "/ready", { key: null });
    expect([reply.status, reply.json.warnings]).toEqual([200, ["The browser runs without its sandbox: no"]]);
  });

  test("asks once a second at most, and does not wait for ever", async () => {
    let pings = 0;
    const silent = { ping: () => (pings++, new Promise<void>(() => {})), gates: true };
    const { call, clock } = await gatewayHarness({ checks: { documents: silent } });
    const replies = [call("GET", "/ready"), call("GET", "/ready")];
    await clock.advance(1_000);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([503, 503]);
    expect(pings).toBe(1);
    const again = call("GET", "/ready");
    await clock.advance(1_000);
    await again;
    expect(pings).toBe(2);
  });
});

describe("/health and /metrics", () => {
  test("health needs no key and ignores a wrong one", async () => {
    const { call } = await gatewayHarness({ checks: { documents: broken } });
    expect(await call("GET", "/health", { authorization: "Bearer nonsense" })).toMatchObject({
      status: 200,
      json: { status: "ok" },
    });
  });

  test.each([
    ["127.0.0.1", {}, 200],
    ["127.8.9.1", {}, 200],
    ["::1", {}, 200],
    ["::ffff:127.0.0.1", {}, 200],
    ["192.0.2.1", {}, 404],
    ["", {}, 404],
    ["127.0.0.1.example.org", {}, 404],
    ["127.0.0.1", { "x-forwarded-for": "192.0.2.1" }, 404],
    ["127.0.0.1", { host: "127.0.0.1:8080" }, 200],
    ["::1", { host: "[::1]:8080" }, 200],
    ["127.0.0.1", { host: "LocalHost" }, 200],
    // A page of another site that points its own name at this machine.
    ["127.0.0.1", { host: "evil.example:8080" }, 404],
    ["127.0.0.1", { host: "127.0.0.1.evil.example" }, 404],
    ["127.0.0.1", { host: "localhost.evil.example" }, 404],
    ["127.0.0.1", { host: "" }, 404],
  ])("metrics from %s with %j: %i", async (address, headers, status) => {
    const { call } = await gatewayHarness();
    expect((await call("GET", "/metrics", { key: null, address, headers })).status).toBe(status);
  });
});

describe("/openapi.json", () => {
  test("is valid OpenAPI 3.1", async () => {
    const { call } = await gatewayHarness();
    for (const path of API_DOCUMENTS) {
      const { json } = await call("GET", path, { key: null });
      expect(json.info.version).toBe("1.0.0");
      const { valid, errors } = await new Validator().validate(structuredClone(json));
      expect([path, valid, errors]).toEqual([path, true, undefined]);
    }
  });

  test("its operation ids are frozen: clients are generated from them", async () => {
    const { call } = await gatewayHarness();
    expect(operations((await call("GET", "/openapi-operator.json")).json)).toEqual([
      "metrics GET /metrics",
      "openapiOperator GET /openapi-operator.json",
    ]);
    expect(operations((await call("GET", "/openapi-pages.json")).json)).toEqual([
      "changelog GET /changelog",
      "changelogOfVersion GET /changelog/{version}",
      "console GET /console",
      "debugRecord GET /debug/{name}",
      "home GET /",
      "openapiPages GET /openapi-pages.json",
      "pageFile GET /pages/{name}",
      "replayPage GET /replay",
    ]);
    expect(operations((await call("GET", "/openapi.json")).json)).toEqual([
      "changeKey PATCH /v1/keys/{prefix} key",
      "createAlert POST /v1/alerts key",
      "createKey POST /v1/keys key",
      "deleteAlert DELETE /v1/alerts/{alert_id} key",
      "fetch POST /v1/fetch key",
      "getAccount GET /v1/account key",
      "getBody GET /v1/bodies/{sha256} key",
      "getInvoice GET /v1/invoices/{id} key",
      "getQuota GET /v1/quota key",
      "headBody HEAD /v1/bodies/{sha256} key",
      "health GET /health",
      "listAlerts GET /v1/alerts key",
      "listInvoices GET /v1/invoices key",
      "listKeyEvents GET /v1/keys/events key",
      "listKeys GET /v1/keys key",
      "openapi GET /openapi.json",
      "read GET /v1/read/{address} key",
      "ready GET /ready",
      "requests GET /v1/requests key",
      "revokeKey DELETE /v1/keys/{prefix} key",
      "rotateKey POST /v1/keys/{prefix}/rotate key",
      "usage GET /v1/usage key",
    ]);
  });

  const SHARED = "../shared/fixtures/gateway/operations.json";
  test.skipIf(!existsSync(SHARED))(`its ids are those of the shared list (${SHARED})`, async () => {
    const listed = new Map<string, any>(
      JSON.parse(readFileSync(SHARED, "utf8")).operations.map((each: any) => [each.operationId, each]),
    );
    const { routes } = await gatewayHarness();
    const served = routes.filter(({ tags, path }) => !tags.includes("about") && path !== "/metrics");
    expect(served.length).toBeGreaterThan(5);
    // Operations that came after the list.
    const later = new Set(["listKeyEvents", "rotateKey", "createKey", "changeKey", "revokeKey", "read"]);
    for (const { operationId, method, path, auth } of served.filter((each) => !later.has(each.operationId)))
      expect([operationId, listed.get(operationId)]).toMatchObject([
        operationId,
        { method, path, key: auth === "key" },
      ]);
  });

  test("names large schemas once, and lists the refusals of each operation", async () => {
    const { call } = await gatewayHarness();
    const { json } = await call("GET", "/openapi.json");
    const fetch = json.paths["/v1/fetch"].post;
    expect(fetch.requestBody.content["application/json"].schema).toEqual({
      $ref: "#/components/schemas/FetchBody",
    });
    expect(Object.keys(fetch.responses)).toEqual([
      "200",
      "401",
      "403",
      "408",
      "413",
      "415",
      "422",
      "429",
      "500",
      "503",
      "504",
    ]);
    expect(json.components.schemas.FetchBody.required).toEqual(["url"]);
  });
});

describe("pages for people", () => {
  test.each([
    ["/", "text/html; charset=utf-8", "API reference"],
    ["/replay", "text/html; charset=utf-8", "ReplayWeb.page"],
    ["/changelog", "text/html; charset=utf-8", "<h2>Unreleased</h2>"],
    ["/pages/home.js", "text/javascript; charset=utf-8", "/v1/fetch"],
    ["/pages/status.js", "text/javascript; charset=utf-8", "If-None-Match"],
    ["/pages/documentation.css", "text/css; charset=utf-8", ".columns"],
    ["/pages/minisearch.js", "text/javascript; charset=utf-8", "class MiniSearch"],
  ])("%s is %s and loads nothing from elsewhere", async (path, content_type, text) => {
    const { call } = await gatewayHarness();
    const { status, headers, bytes } = await call("GET", path, { key: null });
    expect([status, headers["content-type"]]).toEqual([200, content_type]);
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
    expect(bytes.toString()).toContain(text);
    expect(bytes.toString()).not.toMatch(/<(script|link|img)[^>]+(src|href)="(https?:)?\/\//);
  });

  test.each(["/pages/..%2Fpackage.json", "/pages/constructor", "/pages/__proto__", "/pages/x"])(
    "%s is no file of theirs",
    async (path) => {
      const { call } = await gatewayHarness();
      expect((await call("GET", path, { key: null })).status).toBe(404);
    },
  );

  test("each version of the changelog has a page of its own", async () => {
    const { call } = await gatewayHarness();
    const page = (await call("GET", "/changelog/0.1.0", { key: null })).bytes.toString();
    expect(page).toContain("<h2>0.1.0 - ");
    expect(page).not.toContain("<h2>0.2.0");
    expect(page).toContain("This service runs Trawl 0.0.0");
    expect(page).toContain('<a href="/changelog/0.1.0" aria-current="page">');
    for (const version of ["9.9.9", "constructor", "..%2Fhome.html"])
      expect((await call("GET", `/changelog/${version}`, { key: null })).status).toBe(404);
  });

  test("reads the changelog once, whatever versions are asked for", () => {
    let reads = 0;
    const fileOf = pageFiles("1.0.0", () => {
      reads += 1;
      return "# Changelog\n\n## 1.0.0\n\n- First.\n";
    });
    expect(fileOf("/")).not.toBeNull();
    expect(reads).toBe(0);
    for (const version of ["none", "other", "none"]) expect(fileOf(`/changelog/${version}`)).toBeNull();
    expect(fileOf("/changelog/1.0.0")?.bytes.toString()).toContain("First.");
    expect(reads).toBe(1);
  });

  test("the changelog is written without markup of its own", () => {
    const page = changelogPage(
      "# A\n\n- one <b>\n  two `x<y`\n- **three**\n\nText & [more](https://a.example/)",
      "Trawl 1.0.0",
    );
    expect(page).toContain("<h1>A</h1>");
    expect(page).toContain(
      "<li>one &#60;b&#62; two <code>x&#60;y</code></li>\n<li><strong>three</strong></li>",
    );
    expect(page).toContain('<p>Text &#38; <a href="https://a.example/">more</a></p>');
  });
});
