/** GET /v1/status* and /status: the specification, "Health and status (no authentication)". */
import { describe, expect, test } from "vitest";
import { Validator } from "@seriousme/openapi-schema-validator";
import { DomUtils, parseDocument } from "htmlparser2";
import { Compile } from "typebox/compile";
import { uptimeText } from "../../../../actors/business/status/feature/bars.ts";
import { statusRoutes } from "../../../../actors/business/status/feature/routes.ts";
import { evaluate, type Notices, NO_NOTICES } from "../../../../actors/business/status/evaluate.ts";
import { API, companyComponent, FETCH, STORAGE } from "../../../../actors/business/status/components.ts";
import {
  historyView,
  NO_HISTORY,
  recordObservations,
  bucketOf,
} from "../../../../actors/business/status/history.ts";
import type { Facts } from "../../../../actors/business/status/figures.ts";
import { openapi } from "../../../../gateway/openapi/document.ts";
import { ComponentStatus, ServiceStatus, StatusHistory, StatusSummary } from "../../../../schemas/status.ts";
import { gatewayHarness, NOON_MS } from "../../../harness/gateway-harness.ts";

const SPECS = [API, FETCH, STORAGE, companyComponent("gleif", "GLEIF")];

async function harness(facts: Facts = { workers: 1 }, notices: Notices = NO_NOTICES) {
  const history = recordObservations(
    NO_HISTORY,
    [{ bucket: bucketOf(NOON_MS), codes: { api: "x" } }],
    NOON_MS,
  );
  return gatewayHarness({
    more: ({ clock }) =>
      statusRoutes({
        clock,
        build: "Trawl 1.2.3, commit abc",
        base: () => "https://trawl.example",
        watch: {
          notices: () => notices,
          current: () => evaluate(SPECS, facts, notices, Math.floor(clock.now() / 15_000) * 15_000),
          history: async (hours) =>
            historyView(
              history,
              SPECS.map(({ id }) => id),
              hours,
              clock.now(),
            ),
        },
      }),
  });
}

const PATHS = [
  ["/v1/status", ServiceStatus],
  ["/v1/status/summary", StatusSummary],
  ["/v1/status/components/company_gleif", ComponentStatus],
  ["/v1/status/history", StatusHistory],
  ["/v1/status/history?hours=168", StatusHistory],
] as const;

describe.each(PATHS)("GET %s", (path, schema) => {
  test("needs no key, ignores a wrong one, and is as the document says, whatever the status", async () => {
    const { call } = await harness({ workers: 0, database_ok: 0 });
    const reply = await call("GET", path, { authorization: "Bearer nonsense" });
    expect(reply.status).toBe(200);
    expect([...Compile(schema).Errors(reply.json)]).toEqual([]);
  });

  test("may be cached by all for 15 s, is read by scripts of any site, and is 304 while unchanged", async () => {
    const { call, clock } = await harness();
    const first = await call("GET", path, { key: null });
    expect(first.headers).toMatchObject({
      "cache-control": "public, max-age=15",
      "access-control-allow-origin": "*",
    });
    const conditional = { key: null, headers: { "if-none-match": `"other", ${first.headers["etag"]}` } };
    const same = await call("GET", path, conditional);
    expect([same.status, same.bytes.length, same.headers["etag"]]).toEqual([304, 0, first.headers["etag"]]);
    expect(same.headers["cache-control"]).toBe("public, max-age=15");
    if (path.includes("history")) return;
    await clock.advance(15_000);
    expect((await call("GET", path, conditional)).status).toBe(200);
  });
});

test("one address may ask 120 times a minute, of all paths together", async () => {
  const { call, clock } = await harness();
  const ask = (address: string, path = "/v1/status/summary") => call("GET", path, { key: null, address });
  for (let n = 0; n < 120; n++) expect((await ask("192.0.2.7", PATHS[n % 5]![0])).status).toBe(200);
  await clock.advance(17_000);
  const refused = await ask("192.0.2.7");
  expect([refused.status, refused.headers["retry-after"], refused.json]).toEqual([
    429,
    "43",
    { detail: "rate limit exceeded" },
  ]);
  for (const path of ["/v1/status/components/nothing", "/status", "/v1/status/history"])
    expect((await ask("192.0.2.7", path)).status).toBe(429);
  expect((await ask("192.0.2.8")).status).toBe(200);
  await clock.advance(43_000);
  expect((await ask("192.0.2.7")).status).toBe(200);
});

test("of an address never more than 120 are answered within any 60 s", async () => {
  const { call, clock } = await harness();
  const ask = async () =>
    (await call("GET", "/v1/status/summary", { key: null, address: "192.0.2.9" })).status;
  const answered = async (times: number) => {
    let count = 0;
    for (let n = 0; n < times; n++) if ((await ask()) === 200) count++;
    return count;
  };
  // Around the end of a minute of the clock, where a fixed minute would begin anew.
  await clock.advance(59_000 - (clock.now() % 60_000));
  expect(await answered(120)).toBe(120);
  await clock.advance(2_000);
  expect(await answered(120)).toBe(0);
  await clock.advance(58_000);
  expect(await answered(130)).toBe(120);
});

test("a component that this deployment does not have is 404", async () => {
  const { call } = await harness();
  for (const id of ["archive", "company_krs", "_overall", "constructor"])
    expect([id, (await call("GET", `/v1/status/components/${id}`, { key: null })).status]).toEqual([id, 404]);
  const { json } = await call("GET", "/v1/status", { key: null });
  expect(json.components.map((each: { id: string }) => each.id)).toEqual(SPECS.map(({ id }) => id));
});

test.each(["0", "169", "1.5", "x", ""])("hours=%s is no history", async (hours) => {
  const { call } = await harness();
  const reply = await call("GET", `/v1/status/history?hours=${hours}`, { key: null });
  expect([reply.status, reply.json.detail[0].loc]).toEqual([422, ["query", "hours"]]);
});

test("a component shows the notices that name it, and those of the whole service", async () => {
  const at = new Date(NOON_MS).toISOString();
  const update = { at, status: "investigating", message: "We look at it" };
  const common = { title: "T", created_at: at, updated_at: at, updates: [update] };
  const incident = (id: string, components: string[]) =>
    ({ ...common, id, components, status: "investigating", impact: "degraded", resolved_at: null }) as const;
  const ends_at = new Date(NOON_MS + 3_600_000).toISOString();
  const window = (id: string, components: string[]) =>
    ({
      ...common,
      id,
      components,
      status: "scheduled",
      starts_at: ends_at,
      ends_at,
      completed_at: null,
    }) as const;
  const { call } = await harness(
    { workers: 1 },
    {
      incidents: [incident("inc_api", ["api"]), incident("inc_fetch", ["fetch", "api"])],
      maintenance: [window("mnt_all", []), window("mnt_api", ["api"])],
    },
  );
  const { json } = await call("GET", "/v1/status/components/fetch", { key: null });
  expect(json).toMatchObject({ id: "fetch", status: "degraded", reasons: ["incident"] });
  expect(json.incidents.map((each: { id: string }) => each.id)).toEqual(["inc_fetch"]);
  expect(json.maintenance.map((each: { id: string }) => each.id)).toEqual(["mnt_all"]);
});

/** Every page for people has its scripts and styles in files of this service. */
const OWN_FILES_ONLY =
  /<script(?! type="module" src="\/pages\/)|<style|style=|<(?:link|img|script)[^>]+(?:src|href)="(?:https?:)?\/\//;

test("the page is readable without scripts and loads nothing from elsewhere", async () => {
  const { call } = await harness({ workers: 0 });
  const { status, headers, bytes } = await call("GET", "/status", { key: null });
  const page = bytes.toString();
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self'");
  expect(headers["content-security-policy"]).not.toContain("unsafe");
  expect(page).toContain("A major outage is in progress");
  expect(page).toContain("no worker is running");
  expect(page.match(/<div class="bars"[^]*?<\/div>/)![0].match(/<i /g)).toHaveLength(84);
  expect(page).not.toMatch(OWN_FILES_ONLY);
  expect(page).toContain("Trawl 1.2.3, commit abc");
});

test("the page escapes what the operator wrote", async () => {
  const at = new Date(NOON_MS).toISOString();
  const text = `<script>alert("1")</script>`;
  const { call } = await harness(
    {},
    {
      incidents: [
        {
          id: "inc_1",
          title: text,
          status: "identified",
          impact: "none",
          components: ["fetch"],
          created_at: at,
          updated_at: at,
          resolved_at: null,
          updates: [{ at, status: "identified", message: text }],
        },
      ],
      maintenance: [],
    },
  );
  const page = (await call("GET", "/status", { key: null })).bytes.toString();
  expect(page).not.toContain("<script>");
  expect(page.match(/&lt;script&gt;/g)).toHaveLength(2);
  for (const path of ["/status/incidents", "/status/rss.xml", "/status/atom.xml"])
    expect((await call("GET", path, { key: null })).bytes.toString()).not.toContain("<script>");
});

test("an uptime is told with the time that it is of", async () => {
  const { call } = await harness();
  const page = (await call("GET", "/status", { key: null })).bytes.toString();
  // A single bucket of five minutes was recorded, as an outage.
  expect(page).toContain("0.00 % up in the 5 minutes recorded in 7 days");
  expect(page).toContain("When it was not operational (1)");
  for (const [uptime, recorded_s, text] of [
    [1, 168 * 3_600, "100.00 % up in 7 days"],
    [0.99999, 167 * 3_600, "99.99 % up in 7 days"],
    [1, 300, "100.00 % up in the 5 minutes recorded in 7 days"],
    [1, 3 * 3_600, "100.00 % up in the 3 hours recorded in 7 days"],
    [null, 0, ""],
  ] as const) {
    const period = { since: "2026-11-16T13:00:00.000Z", until: "2026-11-23T13:00:00.000Z" };
    expect(uptimeText({ uptime, recorded_s, statuses: [] }, period)).toBe(text);
  }
});

describe("incidents", () => {
  const at = (minute: number) => new Date(NOON_MS + minute * 60_000).toISOString();
  const NOTICES: Notices = {
    incidents: [
      {
        id: "inc_1",
        title: "Slow & old",
        status: "resolved",
        impact: "degraded",
        components: ["fetch"],
        created_at: at(-20_000),
        updated_at: at(-19_000),
        resolved_at: at(-19_000),
        updates: [
          { at: at(-19_000), status: "resolved", message: "Over\u0001" },
          { at: at(-20_000), status: "investigating", message: "We look" },
        ],
      },
    ],
    maintenance: [
      {
        id: "mnt_1",
        title: "Disks",
        status: "scheduled",
        components: [],
        starts_at: at(-10),
        ends_at: at(10),
        completed_at: null,
        created_at: at(-100),
        updated_at: at(-100),
        updates: [{ at: at(-100), status: "scheduled", message: "New disks" }],
      },
    ],
  };
  const text = async (path: string) => {
    const { call } = await harness({ workers: 1 }, NOTICES);
    const { status, headers, bytes } = await call("GET", path, { key: null });
    return { status, type: headers["content-type"], content: bytes.toString() };
  };

  test("have pages of their own, also when the status shows them no more", async () => {
    expect((await text("/status")).content).not.toContain("Slow &amp; old");
    const incident = await text("/status/incidents/inc_1");
    expect([incident.status, incident.type]).toEqual([200, "text/html; charset=utf-8"]);
    expect(incident.content).toContain("Incident. Resolved, impact: degraded. Concerns fetch.");
    expect(incident.content).not.toMatch(OWN_FILES_ONLY);
    expect((await text("/status/maintenance/mnt_1")).content).toContain("Maintenance. In progress, ");
    const { content } = await text("/status/incidents");
    expect(content.indexOf("Disks")).toBeLessThan(content.indexOf("Slow &amp; old"));
    for (const path of ["incidents/mnt_1", "incidents/inc_2", "maintenance/inc_1", "incidents/constructor"])
      expect([path, (await text(`/status/${path}`)).status]).toEqual([path, 404]);
  });

  test.each([
    ["/status/atom.xml", "application/atom+xml; charset=utf-8", "entry", "feed"],
    ["/status/rss.xml", "application/rss+xml; charset=utf-8", "item", "rss"],
  ])("are entries of %s, one for each update, newest first", async (path, type, entry, root) => {
    const feed = await text(path);
    expect([feed.status, feed.type]).toEqual([200, type]);
    const document = parseDocument(feed.content, { xmlMode: true });
    const named = (name: string) => DomUtils.getElementsByTagName(name, document);
    expect(named(root)).toHaveLength(1);
    expect(
      named(entry).map((each) => DomUtils.textContent(DomUtils.getElementsByTagName("title", each))),
    ).toEqual(["Disks: Scheduled", "Slow & old: Resolved", "Slow & old: Investigating"]);
    expect(feed.content).toContain("https://trawl.example/status/incidents/inc_1");
    expect(feed.content).not.toContain("\u0001");
  });
});

test("a component has a page and a badge that other sites may show", async () => {
  const { call } = await harness({ workers: 0 });
  const page = (await call("GET", "/status/components/fetch", { key: null })).bytes.toString();
  expect(page).toContain("no worker is running");
  expect(page).not.toMatch(OWN_FILES_ONLY);
  for (const [path, label] of [
    ["/status/components/fetch/badge.svg", "Fetch: Major outage"],
    ["/status/badge.svg", "Service: Major outage"],
  ] as const) {
    const { headers, bytes } = await call("GET", path, { key: null });
    expect(headers).toMatchObject({
      "content-type": "image/svg+xml; charset=utf-8",
      "cross-origin-resource-policy": "cross-origin",
    });
    expect(bytes.toString()).toContain(`<title>${label}</title>`);
  }
  for (const id of ["nothing", "constructor"])
    for (const path of [`/status/components/${id}`, `/status/components/${id}/badge.svg`])
      expect([path, (await call("GET", path, { key: null })).status]).toEqual([path, 404]);
});

test("its part of the OpenAPI document is valid and described", async () => {
  const { routes } = await harness();
  const document = openapi({
    routes,
    public_url: "http://127.0.0.1:8080",
    audience: "clients",
    references: [],
  });
  const plain = JSON.parse(JSON.stringify(document));
  expect(await new Validator().validate(structuredClone(plain))).toMatchObject({ valid: true });
  expect(Object.keys(plain.paths["/v1/status/components/{id}"].get.responses)).toEqual(
    expect.arrayContaining(["200", "304", "404", "429"]),
  );
});
