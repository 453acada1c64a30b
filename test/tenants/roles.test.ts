/**
 * Rights of each role on each operation of the OpenAPI document, also with the identifiers of another customer. An operation that stands
 * in no row fails the test: its row is the decision who may use it.
 */
import { bookedOf, NO_TERMS } from "../../actors/business/accounts/invoice-terms.ts";
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { INVOICES } from "../../actors/business/accounts/collections.ts";
import {
  createCustomer,
  createKey,
  createProject,
  type KeyOptions,
} from "../../actors/business/accounts/keys.ts";
import { COMPANY_WATCHES, type StoredWatch } from "../../actors/sources/companies/watch.ts";
import { readConfig } from "../../ops/config.ts";
import { openDocuments } from "../../ops/stores.ts";
import type { Invoice } from "../../schemas/invoices.ts";
import { type ApiDocument, operationsOf, requestOf } from "../harness/openapi-requests.ts";
import { scenario } from "../harness/scenario.ts";
import { SETUPS } from "../harness/service.ts";
import { article, gate } from "../harness/web.ts";
import { wholeApi } from "../harness/api-documents.ts";

/** `admin` and `standard` are of the customer whose identifiers are asked for, and of one project. */
const ROLES = ["none", "foreign_admin", "external_admin", "operator", "standard", "admin"] as const;
type Role = (typeof ROLES)[number];

/** An answer that is neither 401 nor 403: the key may ask. */
const MAY = "may" as const;
const DONE = "2xx" as const;
type Expected = typeof MAY | typeof DONE | 401 | 404 | "operator_only" | "admin_key_required";
type Row = Readonly<Record<Role, Expected>>;

const row = (
  none: Expected,
  foreign: Expected,
  operator: Expected,
  standard: Expected,
  admin: Expected,
): Row => ({
  none,
  foreign_admin: foreign,
  external_admin: foreign,
  operator,
  standard,
  admin,
});

const TABLE: readonly (readonly [row: Row, operations: string])[] = [
  // No key is needed, and none changes the answer.
  [
    row(MAY, MAY, MAY, MAY, MAY),
    `status statusSummary statusComponent statusHistory statusPage statusComponentPage statusComponentBadge statusBadge statusIncidentsPage statusIncidentPage statusMaintenancePage statusAtom statusRss changelogOfVersion health ready metrics openapi openapiOperator openapiPages home docs replayPage replay changelog console closeConsoleSession signInByLink crawler pageFile llmsText llmsFullText guide guideInFolder docsPage docsPageInFolder docsShape docsPicture docsSearchIndex docsShapeMarkdown demo demoPage
    debugRecord`,
  ],
  [row(401, MAY, MAY, MAY, MAY), "openConsoleSession"],
  // Work and views of the caller's own project, and of what all share.
  [
    row(401, MAY, MAY, MAY, MAY),
    `search fetch read mapSite crawlSite mcp batchFetch batchSearch batchFilings batchProfiles batchCompanies batchCompaniesFromCsv listCaptures getCapture viewCapture listArchiveImports createArchiveImport listJobs getQuota usage requests
    listAlerts createAlert listMonitors createMonitor listSessions createSession
    resolveFiler listSubmissions latestFiling listFilingDocuments fetchFilingDocument summariseFacts searchFilings
    suggestProfiles discoverProfile getProfile getProfileGraph
    searchCompanies resolveCompany listCompanyWatches createCompanyWatch listCompanyChanges listCompanyBaseline listCompanySources getCompanySchema
    getCompany getCompanyHistory getCompanyEvents getCompanyPeople getCompanyOwnership getCompanyRelationships getCompanyFilings
    getCompanyFinancials getCompanySources`,
  ],
  // The whole customer of the caller.
  [row(401, MAY, MAY, "admin_key_required", MAY), "getAccount listKeys listKeyEvents createKey listInvoices"],
  // By identifier, of one project.
  [
    row(401, 404, 404, DONE, MAY),
    "getBody headBody getRequestWarc listJobSinks deleteJobSink getJob getJobResults getJobUrls getJobUrlsCsv getCompanyBatchCsv listCompanyReview decideCompanyReview changeJob cancelJob deleteCompanyWatch getMonitor listMonitorChanges runMonitor changeMonitor deleteMonitor getSession changeSession deleteSession getArchiveImport deleteArchiveImport",
  ],
  // The file of the import has not arrived.
  [row(401, 404, 404, MAY, MAY), "appendArchiveImport getArchiveImportWarc"],
  // The job has not ended.
  [row(401, 404, 404, MAY, MAY), "getJobWarc getJobWacz"],
  // A job has four at most.
  [row(401, 404, 404, MAY, MAY), "createJobSink"],
  // By identifier, of one customer.
  [row(401, 404, 404, "admin_key_required", DONE), "getInvoice changeKey rotateKey revokeKey"],
  [row(401, 404, 404, 404, DONE), "deleteAlert"],
  // Other customers, or what all share.
  [
    row(401, "operator_only", MAY, "operator_only", "operator_only"),
    `listNodes listDeadLetters setLogLevel viewDomain clearDomain configureDomain pauseJob
    listNotices openIncident scheduleMaintenance listOperatorEvents
    getCompanyIndex mergeCompanies splitCompany removePerson checkCompanySources startCompanyImport listCompanyImports`,
  ],
  [
    row(401, "operator_only", 404, "operator_only", "operator_only"),
    "getDeadLetter retryDeadLetter deleteDeadLetter updateIncident completeMaintenance",
  ],
];

const ROWS = new Map(
  TABLE.flatMap(([each, operations]) => operations.split(/\s+/).map((name) => [name, each] as const)),
);

/** Requests that the schemas alone would make too large. */
const BODIES: Readonly<Record<string, object>> = {
  checkCompanySources: { sources: [] },
  changeMonitor: { label: "Another" },
  decideCompanyReview: { decisions: [{ index: 0, company: null }] },
};

function isAsExpected(expected: Expected, status: number, json: any): boolean {
  if (expected === MAY) return status !== 401 && status !== 403 && status !== 500;
  if (expected === DONE) return status >= 200 && status < 300;
  if (typeof expected === "number") return status === expected;
  return status === 403 && json?.detail?.error === expected;
}

describe.each(SETUPS)("each role on each operation, $setup", ({ start }) => {
  const { sites, service } = scenario(start);
  const secret = `s${randomBytes(12).toString("hex")}`;
  const door = gate();
  const keys: Record<Role, string | null> = {
    none: null,
    foreign_admin: "",
    external_admin: "",
    operator: "",
    standard: "",
    admin: "",
  };
  let document: ApiDocument = { paths: {}, components: { schemas: {} } };
  /** Identifiers of what the owner has, by the name of the parameter that takes them. */
  let given: Record<string, string> = {};
  /** Operations on jobs of one kind, and such a job of the owner. */
  const jobs_of: Record<string, string> = {};

  beforeAll(async () => {
    const documents = await openDocuments(readConfig(service.environment));
    try {
      const now_ms = Date.now();
      for (const [customer, project, external] of [
        ["owner", "mine", false],
        ["foreign", "theirs", false],
        ["external", "outside", true],
      ] as const) {
        await createCustomer(documents, { name: customer, external, currency: "USD" }, now_ms);
        await createProject(documents, { name: project, customer }, now_ms);
      }
      const key = async (project: string, role: KeyOptions["role"]) =>
        (await createKey(documents, { project, role, label: project === "mine" ? secret : null }, now_ms))
          .key;
      keys.standard = await key("mine", "standard");
      keys.admin = await key("mine", "account_admin");
      keys.foreign_admin = await key("theirs", "account_admin");
      keys.external_admin = await key("outside", "account_admin");
      keys.operator = service.operator_key;
      const watch: StoredWatch = {
        id: "wch_0123456789abcdef",
        project: "mine",
        url: `https://client.example/${secret}`,
        companies: [],
        secret,
        created_ms: now_ms,
        last_delivery_ms: null,
        last_status: null,
        is_off: false,
      };
      await documents.put(COMPANY_WATCHES.name, watch.id, watch, 0, { tag: watch.project });
      const invoice: Invoice = {
        id: "inv-2026-10-1-owner",
        customer: "owner",
        period: "2026-10",
        status: "issued",
        currency: "USD",
        total: "1.000000",
        issued_at: "2026-11-01T00:10:00.000Z",
        paid_at: null,
        voided_at: null,
        since: "2026-10-01T00:00:00.000Z",
        until: "2026-11-01T00:00:00.000Z",
        exchange_rate: null,
        ...bookedOf({ name: "x" }, 0, NO_TERMS, 0),
        lines: [],
      };
      await documents.put(INVOICES.name, "owner:2026-10:001", { invoice, counted: {} }, 0, { tag: "owner" });
      const site = sites.site({
        "/": { body: article("Known to the owner") },
        "/other": { body: article("Known to all") },
        "/slow": async () => {
          await door.opened;
          return { body: article("Slow") };
        },
      });
      const page = await service.fetch(
        { url: `${site.origin}/?token=${secret}`, project_ref: secret, archive: true },
        { key: keys.standard },
      );
      const created = async (path: string, body: object, by: string | null = keys.standard) => {
        const { status, json } = await service.call("POST", path, { key: by, body });
        expect([path, status, json]).toEqual([
          path,
          /^\/v1\/(?:alerts|archives|monitors|sessions|jobs\/[^/]+\/sinks)$/.test(path) ? 201 : 202,
          expect.anything(),
        ]);
        return json;
      };
      const job = await created("/v1/batch/fetch", {
        idempotency_key: secret,
        items: [{ url: `${site.origin}/slow?${secret}` }],
      });
      const monitor = await created("/v1/monitors", {
        url: `${site.origin}/slow?${secret}`,
        every_s: 3_600,
        label: secret,
      });
      const session = await created("/v1/sessions", { label: secret });
      const companies = {
        idempotency_key: `${secret}-companies`,
        action: "resolve",
        items: [{ name: "Quuxbar" }],
      };
      const company_job = (await created("/v1/companies/batch", companies)).job_id;
      for (const operation of ["getCompanyBatchCsv", "listCompanyReview", "decideCompanyReview"])
        jobs_of[operation] = company_job;
      const crawl = await created("/v1/crawl", { url: `${site.origin}/slow?crawl=${secret}` });
      jobs_of["getJobUrls"] = jobs_of["getJobUrlsCsv"] = crawl.job_id;
      // Webhooks are numbered by customer: the others will have made one or two of their own.
      const alert = { url: `https://client.example/${secret}`, scope: "customer" };
      for (let n = 0; n < 9; n++) await created("/v1/alerts", alert, keys.admin);
      const sink = await created(`/v1/jobs/${job.job_id}/sinks`, {
        type: "webhook",
        url: `https://client.example/${secret}`,
      });
      const alert_id = (await created("/v1/alerts", alert, keys.admin)).id;
      given = {
        job_id: job.job_id,
        monitor_id: monitor.id,
        import_id: (await created("/v1/archives", { name: "a.warc", bytes: 5, sha256: "0".repeat(64) })).id,
        session_id: session.session_id,
        sha256: page.sha256!,
        request_id: page.request_id,
        watch_id: watch.id,
        alert_id: String(alert_id),
        sink_id: sink.sink_id,
        id: invoice.id,
        dead_letter_id: "999",
        incident_id: "inc_none",
        maintenance_id: "mnt_none",
        prefix: (await key("mine", "standard")).slice(0, 10),
        url: `${site.origin}/other`,
      };
    } finally {
      await documents.close();
    }
    document = await wholeApi((path) => service.call("GET", path, { key: null }));
  });

  test("every operation of the document stands in a row", () => {
    const documented = operationsOf(document).map(([, , { operationId }]) => operationId);
    expect(documented.filter((name) => !ROWS.has(name))).toEqual([]);
    expect(documented.length).toBeGreaterThan(60);
    // A protocol is no operation of the document; the demo's pages are served where the demo is on.
    expect([...ROWS.keys()].filter((name) => !documented.includes(name))).toEqual([
      "demo",
      "demoPage",
      "mcp",
    ]);
  });

  test("the protocol of agents needs a key", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "ping" };
    const asked = (key: string | null) => service.call("POST", "/mcp", { key, body });
    expect([(await asked(null)).status, (await asked("sk_unknown")).status]).toEqual([401, 401]);
  });

  test("Firecrawl's operations need a key, and another customer's job is none of theirs", async () => {
    const jobs = (kind: string, id: string) =>
      ["GET", "DELETE"].map((method) => [method, `/v2/${kind}/${id}`] as const);
    const batch = [
      ...jobs("batch/scrape", given["job_id"]!),
      ["GET", `/v2/batch/scrape/${given["job_id"]}/errors`] as const,
    ];
    const crawl = [
      ...jobs("crawl", jobs_of["getJobUrls"]!),
      ["GET", `/v2/crawl/${jobs_of["getJobUrls"]}/errors`] as const,
    ];
    const lists = [
      "crawl/active",
      "team/credit-usage",
      "concurrency-check",
      "team/queue-status",
      "monitor",
    ].map((path) => ["GET", `/v2/${path}`] as const);
    const monitor = `/v2/monitor/${given["monitor_id"]}`;
    const others = [
      ["GET", `/v2/extract/${given["job_id"]}`],
      ...["GET", "PATCH", "DELETE"].map((method) => [method, monitor]),
      ["POST", `${monitor}/run`],
      ["GET", `${monitor}/checks`],
      ["GET", `${monitor}/checks/1`],
    ] as const;
    for (const [method, path] of [...batch, ...crawl, ...others]) {
      const body = method!.startsWith("P") && { body: {} };
      const { status, bytes } = await service.call(method!, path, { key: keys.foreign_admin, ...body });
      expect([method, path, status]).toEqual([method, path, 404]);
      expect(bytes.toString()).not.toContain(secret);
    }
    const posts = ["scrape", "map", "crawl", "batch/scrape", "search", "extract", "monitor"].map(
      (path) => ["POST", `/v2/${path}`] as const,
    );
    for (const [method, path] of [...batch, ...crawl, ...lists, ...posts]) {
      const { status, json } = await service.call(method, path, {
        key: null,
        ...(method === "POST" && { body: {} }),
      });
      expect([method, path, status, json.success]).toEqual([method, path, 401, false]);
    }
    const { bytes } = await service.call("GET", "/v2/crawl/active", { key: keys.foreign_admin });
    expect(bytes.toString()).not.toContain(secret);
  });

  test("identifiers of another customer in bodies and queries name nothing", async () => {
    const { prefix, job_id } = given;
    const { json } = await service.call("GET", "/v1/requests?limit=1", { key: keys.admin });
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await service.call(method, path, { key: keys.foreign_admin, ...(body && { body }) });
      expect(answer.bytes.toString()).not.toContain(secret);
      return [answer.status, answer.json.detail?.[0]?.loc?.at(-1) ?? answer.json.detail ?? answer.json.items];
    };
    const url = "https://client.example/";
    expect(await ask("GET", `/v1/requests?key=${prefix}`)).toEqual([422, "key"]);
    expect(await ask("GET", `/v1/requests?cursor=${json.next_cursor}`)).toEqual([422, "cursor"]);
    expect(await ask("GET", `/v1/jobs?cursor=${job_id}`)).toEqual([200, []]);
    expect(await ask("POST", "/v1/keys", { project: "mine" })).toEqual([422, "project"]);
    expect(await ask("POST", "/v1/alerts", { url, scope: "key", key: prefix })).toEqual([
      404,
      "key not found",
    ]);
    expect(await ask("POST", "/v1/alerts", { url, scope: "project", project: "mine" })).toEqual([
      404,
      "project not found",
    ]);
  });

  test("every operation of /v1/ops is the operators', and no other is", () => {
    const operated = operationsOf(document).filter(
      ([, , { operationId }]) => ROWS.get(operationId)?.admin === "operator_only",
    );
    const under_ops = operationsOf(document).filter(([path]) => path.startsWith("/v1/ops"));
    expect(operated).toEqual(under_ops);
  });

  test(
    "answers each role as its row says, and shows nothing of the owner to others",
    { timeout: 300_000 },
    async () => {
      const wrong: string[] = [];
      const isRemoval = ([, method]: readonly [string, string, ...unknown[]]): number =>
        Number(method === "DELETE");
      // Removals last: what an operation asks for is there till then.
      const operations = operationsOf(document).toSorted((a, b) => isRemoval(a) - isRemoval(b));
      for (const [path, method, operation] of operations) {
        const { operationId } = operation;
        const job_id = jobs_of[operationId];
        const identifiers = job_id === undefined ? given : { ...given, job_id };
        const { target, body } = requestOf(document, path, operation, identifiers);
        const expected = ROWS.get(operationId)!;
        const ask = async (role: Role): Promise<void> => {
          const content = BODIES[operationId] ?? body;
          const { status, json, bytes, headers } = await service.call(method, target, {
            key: keys[role],
            ...(content !== undefined && { body: content }),
          });
          if (!isAsExpected(expected[role], status, json))
            wrong.push(
              `${operationId} by ${role}: ${status} ${bytes.toString().slice(0, 200)}, not ${expected[role]}`,
            );
          const isOwn = role === "standard" || role === "admin";
          if (!isOwn && `${JSON.stringify(headers)}${bytes.toString()}`.includes(secret))
            wrong.push(`${operationId} shows ${role} what is the owner's`);
        };
        // Others first: what they could remove, the owner would miss.
        for (const role of ROLES) await ask(role);
      }
      door.open();
      expect(wrong).toEqual([]);
    },
  );
});
