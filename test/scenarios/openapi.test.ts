/**
 * The API documents as their readers use them: two linters, and clients that openapi-typescript and openapi-python-client generate from it,
 * compiled, which call each operation of a running service. CI installs the tools (`.ci/run`): those from npm in /opt/openapi-tools, the
 * one from PyPI in /opt/openapi-python-client. `OPENAPI_TOOLS` and `OPENAPI_PYTHON_CLIENT` name other places.
 */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  callsOf,
  type ClientCall,
  type Document,
  inlineObjectsOf,
  operationsOf,
  undocumentedOf,
} from "../harness/clients/document.ts";
import { type Gleif, gleif } from "../harness/gleif.ts";
import { client as jobsOf } from "../harness/jobs-client.ts";
import { OPERATOR_KEY, type Service, SETUPS } from "../harness/service.ts";
import { FETCH_ERRORS } from "../../schemas/errors.ts";
import { JOB_KINDS } from "../../schemas/jobs.ts";
import { API_DOCUMENTS, wholeApi } from "../harness/api-documents.ts";

const run = promisify(execFile);
const ROOT = new URL("../..", import.meta.url).pathname;
const NPM_TOOLS = process.env["OPENAPI_TOOLS"] ?? "/opt/openapi-tools";
const PYTHON = join(process.env["OPENAPI_PYTHON_CLIENT"] ?? "/opt/openapi-python-client", "bin");
const hasNpmTools = existsSync(join(NPM_TOOLS, "node_modules/.bin/redocly"));
const hasPython = existsSync(join(PYTHON, "openapi-python-client"));
const NPM_HINT = "(needs npm install --prefix /opt/openapi-tools with the packages of .ci/run)";
const PYTHON_HINT = "(needs pip install openapi-python-client in /opt/openapi-python-client)";

/**
 * Rules of the linters that do not hold here: a literal segment of a path beats a parameter (RFC 9110 knows paths only as
 * a whole), and pages that need no key and take no input refuse nobody.
 */
const REDOCLY = {
  extends: ["recommended"],
  rules: { "no-ambiguous-paths": "off", "operation-4xx-response": "off" },
};

/** Otherwise it makes every field with a default required, as it is in answers. */
const OPTIONAL_DEFAULTS = "--default-non-nullable=false";
const OTHER_SOURCES = [
  "TRAWL_BRREG_URL",
  "TRAWL_PRH_URL",
  "TRAWL_RECHERCHE_ENTREPRISES_URL",
  "TRAWL_KRS_URL",
] as const;
/** Operations on things that the service of these tests lacks, or that the first client has deleted. */
const MISSING = new Set([
  "signInByLink",
  "appendArchiveImport",
  "changeKey",
  "changeMonitor",
  "changeSession",
  "completeMaintenance",
  "debugRecord",
  "deleteAlert",
  "deleteArchiveImport",
  "deleteCompanyWatch",
  "deleteDeadLetter",
  "deleteJobSink",
  "deleteMonitor",
  "deleteSession",
  "decideCompanyReview",
  "getCompanyBatchCsv",
  "getArchiveImport",
  "getArchiveImportWarc",
  "getDeadLetter",
  "getInvoice",
  // The clients' job is no crawl.
  "getJobUrls",
  "getJobUrlsCsv",
  "getMonitor",
  "replay",
  "listCompanyReview",
  "listMonitorChanges",
  // The demo's pages come with the program: nothing is exchanged for them.
  "getCapture",
  "viewCapture",
  "getRequestWarc",
  "getSession",
  "retryDeadLetter",
  "revokeKey",
  "rotateKey",
  "runMonitor",
  "startCompanyImport",
  "statusIncidentPage",
  "statusMaintenancePage",
  "updateIncident",
]);
/** 6 s each on a quiet machine. */
const TIMEOUT_MS = 180_000;
const PUMA = "529900GRZ2BQY5ZM9N49";

describe("the OpenAPI document", () => {
  const folder = mkdtempSync(join(tmpdir(), "trawl-openapi-"));
  const file = join(folder, "whole.json");
  const documents = new Map<string, Document>();
  let service: Service;
  let source: Gleif;
  let document: Document;
  let calls: readonly ClientCall[] = [];

  beforeAll(async () => {
    // No name server answers, so no request leaves this machine.
    const nowhere = "http://127.0.0.1:9";
    source = await gleif();
    source.companies.set(PUMA, { lei: PUMA, name: "Puma SE", city: "Herzogenaurach", country: "DE" });
    service = await SETUPS.find(({ setup }) => setup === "embedded")!.start({
      TRAWL_DEMO: "on",
      TRAWL_DNS_SERVERS: "127.0.0.1:9",
      TRAWL_FILINGS_IDENTITY: "Trawl tests trawl@trawl.test",
      TRAWL_FILINGS_DATA_URL: nowhere,
      TRAWL_FILINGS_WWW_URL: nowhere,
      TRAWL_FILINGS_SEARCH_URL: nowhere,
      TRAWL_GLEIF_URL: source.url,
      ...Object.fromEntries(OTHER_SOURCES.map((name) => [name, nowhere])),
    });
    for (const path of API_DOCUMENTS) {
      const { json } = await service.call("GET", path, { key: null });
      documents.set(path, json as Document);
      writeFileSync(join(folder, path), JSON.stringify(json));
    }
    // Clients of both kinds call the operators' part as well; pages are for people.
    document = (await wholeApi((path) => service.call("GET", path, { key: null }))) as Document;
    writeFileSync(file, JSON.stringify(document));
    const page = await service.fetch({ url: `${service.url}/demo/lighthouse` });
    const { json } = await service.call("POST", "/v1/batch/search", {
      body: { items: [{ query: "lighthouse" }], idempotency_key: "clients" },
    });
    // The archive of a job is there when it has ended.
    await jobsOf(service).finished(json.job_id);
    calls = callsOf(document, {
      job_id: json.job_id,
      sha256: page.sha256!,
      // It leads elsewhere, which one of the clients follows.
    }).filter(({ operation }) => operation !== "demo");
  });
  afterAll(async () => {
    await service?.close();
    await source?.close();
    rmSync(folder, { recursive: true });
  });

  test("every object has a name, every field and parameter a sentence and an example", () => {
    expect(inlineObjectsOf(document)).toEqual([]);
    expect(undocumentedOf(document)).toEqual([]);
  });

  test("parameters with a default may be left out, moments have the format date-time", () => {
    const job = operationsOf(document).find(({ operationId }) => operationId === "getJob")!;
    const required = job.parameters!.filter((parameter) => parameter.required).map(({ name }) => name);
    expect(required).toEqual(["job_id"]);
    const moments = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties).flatMap(([field, schema]) =>
        field.endsWith("_at") && !JSON.stringify(schema).includes("date-time") ? [`${name}.${field}`] : [],
      ),
    );
    // Pages and search engines give days and months as well.
    expect(moments.toSorted()).toEqual([
      "ArticleMeta.modified_at",
      "ArticleMeta.published_at",
      "PageComment.published_at",
      "SearchResult.published_at",
    ]);
  });

  test("pages and operators' operations stand in documents of their own", () => {
    const ids = [...documents.values()].map((each) =>
      operationsOf(each).map(({ operationId, path }) => `${operationId} ${path}`),
    );
    const [clients, operators, pages] = ids as [string[], string[], string[]];
    expect(clients.filter((each) => / \/(?:v1\/ops|debug|demo|docs|metrics)/.test(each))).toEqual([]);
    expect(clients.filter((each) => !/ \/v1\/| \/(?:health|ready|openapi\.json)$/.test(each))).toEqual([]);
    expect(operators.filter((each) => !each.includes(" /v1/ops/"))).toEqual([
      "metrics /metrics",
      "openapiOperator /openapi-operator.json",
    ]);
    expect(pages.toSorted()).toEqual([
      "changelog /changelog",
      "changelogOfVersion /changelog/{version}",
      "closeConsoleSession /console/session",
      "console /console",
      "crawler /crawler",
      "debugRecord /debug/{name}",
      "demo /demo",
      "demoPage /demo/{page}",
      "docs /docs",
      "docsPage /docs/{name}",
      "docsPageInFolder /docs/{folder}/{name}",
      "docsPicture /docs/pictures/{name}.svg",
      "docsSearchIndex /docs/search.json",
      "docsShape /docs/reference/shapes/{name}",
      "docsShapeMarkdown /docs/reference/shapes/{name}.md",
      "guide /docs/{name}.md",
      "guideInFolder /docs/{folder}/{name}.md",
      "home /",
      "llmsFullText /llms-full.txt",
      "llmsText /llms.txt",
      "openConsoleSession /console/session",
      "openapiPages /openapi-pages.json",
      "pageFile /pages/{name}",
      "replay /replay/{token}/{address}",
      "replayPage /replay",
      "signInByLink /console/sign-in",
      "statusAtom /status/atom.xml",
      "statusBadge /status/badge.svg",
      "statusComponentBadge /status/components/{id}/badge.svg",
      "statusComponentPage /status/components/{id}",
      "statusIncidentPage /status/incidents/{id}",
      "statusIncidentsPage /status/incidents",
      "statusMaintenancePage /status/maintenance/{id}",
      "statusPage /status",
      "statusRss /status/rss.xml",
    ]);
  });

  test("an item of a job is one of its kinds, and every error is a word or a pattern", () => {
    const { schemas } = document.components as unknown as { schemas: Record<string, any> };
    const { oneOf, discriminator } = schemas["JobItem"];
    const mapping = Object.fromEntries(
      JOB_KINDS.map((kind) => [kind, `#/components/schemas/${itemName(kind)}`]),
    );
    expect(discriminator).toEqual({ propertyName: "kind", mapping });
    expect(oneOf.map(({ $ref }: any) => $ref).toSorted()).toEqual(Object.values(mapping).toSorted());
    expect(schemas["FetchErrorName"].enum).toEqual(Object.keys(FETCH_ERRORS));
    const open = Object.entries(schemas).flatMap(([name, { properties = {} }]) =>
      ["error", "callback_status"].flatMap((field) =>
        field in properties && isAnyText(properties[field]) ? [`${name}.${field}`] : [],
      ),
    );
    // The sources of the register have words of their own, and a row of the ledger has those of every operation.
    expect(open).toEqual(["CompanyRefresh.error", "RequestRecord.error"]);
  });

  test("a stream of lines has the schema of one line", () => {
    const contents = operationsOf(document).flatMap(({ operationId, responses }) => {
      const content = responses["200"]?.content as Record<string, Record<string, unknown>> | undefined;
      const lines = content?.["application/x-ndjson"];
      return lines ? [[operationId, lines["schema"], lines["x-item-schema"]]] : [];
    });
    const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
    expect(contents).toEqual([
      ["getJobResults", reference("JobItem"), reference("JobItem")],
      ["getJobUrls", reference("CrawlUrl"), reference("CrawlUrl")],
    ]);
  });

  test("the union of all refusals has what each status has", () => {
    const { schemas } = document.components as unknown as { schemas: Record<string, any> };
    for (const each of documents.values())
      expect((each as any)["x-error-body"]).toEqual({ $ref: "#/components/schemas/ErrorBody" });
    const known = new Set(schemas["RefusalCode"].enum);
    const resolved = (schema: any): any =>
      schema?.$ref ? resolved(schemas[schema.$ref.replace("#/components/schemas/", "")]) : schema;
    const fields = new Set(["error", ...Object.keys(resolved(schemas["Refusal"]).properties)]);
    const odd = operationsOf(document).flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([status, reply]) => {
          const { schema = {} } = (Object.values(reply.content ?? {})[0] ?? {}) as any;
          const bodies: any[] = (schema.anyOf ?? [schema]).map(resolved);
          // The answer of a node that is not ready is its report.
          const details = bodies.flatMap(({ properties }) =>
            properties?.detail ? [resolved(properties.detail)] : [],
          );
          return details
            .flatMap((detail) => (detail.anyOf ?? [detail]).map(resolved))
            .filter(({ type, properties }) => {
              if (type === "string" || type === "array") return false;
              const { error, ...others } = properties;
              const words: string[] = error.enum ?? [error.const];
              return !(
                words.every((word) => known.has(word)) &&
                Object.keys(others).every((each) => fields.has(each))
              );
            })
            .map(({ properties }) => [operationId, status, Object.keys(properties)]);
        }),
    );
    expect(odd).toEqual([]);
  });

  test("requests that the service makes and its own header fields are described", () => {
    const withCallbacks = operationsOf(document).filter(({ callbacks }) => callbacks !== undefined);
    expect(withCallbacks.map(({ operationId }) => operationId).toSorted()).toEqual([
      "batchCompanies",
      "batchCompaniesFromCsv",
      "batchFetch",
      "batchFilings",
      "batchProfiles",
      "batchSearch",
      "changeMonitor",
      "crawlSite",
      "createAlert",
      "createCompanyWatch",
      "createJobSink",
      "createMonitor",
    ]);
    const { headers } = document.components as unknown as { headers: object };
    expect(Object.keys(headers)).toEqual(
      expect.arrayContaining([
        "X-Service-Key-Role",
        "X-Service-Quota-Remaining",
        "X-Service-Key-Budget-Remaining",
        "X-Service-Warning",
      ]),
    );
  });

  test.skipIf(!hasNpmTools)(
    `redocly and spectral find nothing ${NPM_HINT}`,
    { timeout: TIMEOUT_MS },
    async () => {
      writeFileSync(join(folder, "redocly.yaml"), JSON.stringify(REDOCLY));
      writeFileSync(join(folder, "spectral.yaml"), JSON.stringify({ extends: ["spectral:oas"] }));
      const bin = join(NPM_TOOLS, "node_modules/.bin");
      const lint = async (document_file: string, program: string, ...words: string[]): Promise<any> => {
        const options = {
          cwd: folder,
          maxBuffer: 32 << 20,
          env: { ...process.env, REDOCLY_TELEMETRY: "off" },
        };
        const outcome = await run(join(bin, program), ["lint", document_file, ...words], options).catch(
          (problem: { stdout: string }) => problem,
        );
        return JSON.parse(outcome.stdout);
      };
      for (const path of API_DOCUMENTS) {
        const name = path.slice(1);
        const redocly = await lint(name, "redocly", "--format=json", "--config=redocly.yaml");
        const spectral = await lint(name, "spectral", "--format=json", "--ruleset=spectral.yaml", "--quiet");
        const places = redocly.problems
          .map(({ ruleId, message, location }: any) => [ruleId, message, location[0].pointer])
          // It reads no references below an `x-`, and `/demo` does nothing but lead to its first page.
          .filter(
            ([, , pointer]: string[]) =>
              !["#/components/schemas/ErrorBody", "#/paths/~1demo/get/responses"].includes(pointer!),
          );
        expect([name, ...places]).toEqual([name]);
        const found = spectral.map(({ code, message, path: at }: any) => [code, message, at.join("/")]);
        expect([name, ...found]).toEqual([name]);
      }
    },
  );

  test.skipIf(!hasNpmTools)(
    `a client of openapi-typescript compiles and calls each operation ${NPM_HINT}`,
    { timeout: TIMEOUT_MS },
    async () => {
      const client = join(folder, "typescript");
      await run("mkdir", [client]);
      symlinkSync(join(NPM_TOOLS, "node_modules"), join(client, "node_modules"));
      const bin = join(NPM_TOOLS, "node_modules/.bin");
      await run(join(bin, "openapi-typescript"), [file, "-o", join(client, "api.ts"), OPTIONAL_DEFAULTS]);
      writeFileSync(join(client, "calls.ts"), typescriptCalls(calls, service.url));
      copyFileSync(join(ROOT, "test/harness/clients/typed-program.txt"), join(client, "typed-program.ts"));
      const compiler = {
        strict: true,
        noEmit: true,
        target: "es2024",
        module: "esnext",
        moduleResolution: "bundler",
        allowImportingTsExtensions: true,
        skipLibCheck: true,
        types: [],
        lib: ["es2024", "dom"],
      };
      writeFileSync(
        join(client, "tsconfig.json"),
        JSON.stringify({ compilerOptions: compiler, files: ["calls.ts", "typed-program.ts"] }),
      );
      const compiled = await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", client]).catch(
        (problem: { stdout: string }) => problem,
      );
      expect(compiled.stdout).toBe("");
      const { stdout } = await run(process.execPath, ["--disable-warning=ExperimentalWarning", "calls.ts"], {
        cwd: client,
        env: { ...process.env, TRAWL_KEY: OPERATOR_KEY },
      });
      expectAnswers(JSON.parse(stdout) as Record<string, number>);
    },
  );

  test.skipIf(!hasPython)(
    `a client of openapi-python-client compiles and calls each operation ${PYTHON_HINT}`,
    { timeout: TIMEOUT_MS },
    async () => {
      const client = join(folder, "python");
      await run("mkdir", [client]);
      const words = [
        "generate",
        `--path=${file}`,
        `--output-path=${join(client, "trawl_client")}`,
        "--meta=none",
        `--config=${join(client, "config.json")}`,
      ];
      // To the generator a file is a file, whatever its type.
      const types = ["text/csv", "application/warc", "application/wacz"].map((type) => [
        type,
        "application/octet-stream",
      ]);
      const config = { content_type_overrides: Object.fromEntries(types) };
      writeFileSync(join(client, "config.json"), JSON.stringify(config));
      // It formats with programs that it looks for on PATH; a warning is an operation that it could not read.
      const generated = await run(join(PYTHON, "openapi-python-client"), [...words, "--fail-on-warning"], {
        env: { ...process.env, PATH: `${PYTHON}:${process.env["PATH"]}` },
      });
      expect(generated.stdout).not.toContain("WARNING");
      const lines = calls.map(({ operation, parameters, body }) => ({
        operation,
        module: snake(operation),
        parameters: Object.fromEntries(
          Object.entries(parameters).map(([name, { value }]) => [snake(name), value]),
        ),
        body: body === null ? null : distinct(body, "python"),
      }));
      writeFileSync(join(client, "calls.json"), JSON.stringify(lines));
      const { stdout } = await run(join(PYTHON, "python"), [
        join(ROOT, "test/harness/clients/call-each.py"),
        client,
        service.url,
        OPERATOR_KEY,
        join(client, "calls.json"),
      ]);
      const answers = JSON.parse(stdout) as Record<string, readonly [status: number, type: string]>;
      expectAnswers(Object.fromEntries(Object.entries(answers).map(([name, [status]]) => [name, status])));
      // An answer is an object of a class with the name of its schema.
      expect(answers["getJob"]).toEqual([200, "JobStatus"]);
      expect(answers["getCompany"]).toEqual([200, "CompanyRecord"]);
      expect(answers["fetch"]).toEqual([200, "FetchResponse"]);
    },
  );

  /** Each operation once, with a status that the document has for it; the good one where the service has what was asked for. */
  function expectAnswers(statusOf: Readonly<Record<string, number>>): void {
    expect(Object.keys(statusOf).toSorted()).toEqual(calls.map(({ operation }) => operation).toSorted());
    const strange = calls.filter(({ operation, statuses }) => !statuses.includes(statusOf[operation]!));
    expect(strange.map(({ operation }) => [operation, statusOf[operation]])).toEqual([]);
    const refused = Object.entries(statusOf).filter(
      ([name, status]) => status >= 300 && !(status === 404 && MISSING.has(name)),
    );
    expect(refused).toEqual([]);
  }
});

const itemName = (kind: string): string => `${kind[0]!.toUpperCase()}${kind.slice(1)}JobItem`;

/** Whether any text fits. */
const isAnyText = ({ type, format, pattern, enum: words, const: word, anyOf = [], $ref }: any): boolean =>
  (type === "string" && [format, pattern, words, word, $ref].every((each) => each === undefined)) ||
  anyOf.some(isAnyText);

const asText = (type: string): string =>
  `bodySerializer: (body) => body as string, headers: { "Content-Type": "${type}" }`;

/** A program that calls each operation and prints the statuses. */
function typescriptCalls(calls: readonly ClientCall[], url: string): string {
  const lines = calls.map(({ operation, method, path, parameters, body, body_type, isJson }) => {
    const places = new Map<string, Record<string, unknown>>();
    for (const [name, { in: place, value }] of Object.entries(parameters))
      places.set(place, { ...places.get(place), [name]: value });
    const options = [
      ...(places.size > 0 ? [`params: ${JSON.stringify(Object.fromEntries(places))}`] : []),
      ...(body === null ? [] : [`body: ${JSON.stringify(distinct(body, "typescript"))}`]),
      ...(typeof body === "string" ? [asText(body_type!)] : []),
      ...(isJson ? [] : ['parseAs: "text"']),
    ];
    return `answers["${operation}"] = (await client.${method}("${path}", { ${options.join(", ")} })).response.status;`;
  });
  return [
    'import createClient from "openapi-fetch";',
    'import type { paths } from "./api.ts";',
    "declare const process: { readonly env: Record<string, string | undefined> };",
    `const client = createClient<paths>({ baseUrl: "${url}", headers: { Authorization: \`Bearer \${process.env["TRAWL_KEY"]}\` } });`,
    "const answers: Record<string, number> = {};",
    ...lines,
    "console.log(JSON.stringify(answers));",
  ].join("\n");
}

/** Both clients create jobs: one idempotency key names one job. */
const distinct = (body: object | string, client: string): object | string =>
  typeof body === "object" && "idempotency_key" in body
    ? { ...body, idempotency_key: `${client} ${JSON.stringify(body).length}` }
    : body;

const snake = (name: string): string =>
  name.replaceAll("-", "_").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
