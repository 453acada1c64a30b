/** POST /v1/companies/batch/csv and GET /v1/companies/batch/{job_id}.csv without a socket. The register knows no company. */
import { describe, expect, test } from "vitest";
import { memoryCompanyIndex } from "../../../../actors/sources/companies/adapters/index.memory.ts";
import { companyItems } from "../../../../actors/sources/companies/feature/item-kind.ts";
import { findPayer } from "../../../../actors/business/accounts/payer.ts";
import { jobActor } from "../../../../actors/work/jobs/actor.ts";
import { jobRoutes } from "../../../../actors/work/jobs/feature/routes.ts";
import { schedulerActor } from "../../../../actors/work/jobs/scheduler.actor.ts";
import { fakeEgress } from "../../../../cluster/adapters/egress/egress.fake.ts";
import { memoryDocuments } from "../../../../cluster/adapters/documents/documents.memory.ts";
import { type Clock, sleep } from "../../../../cluster/ports/clock.ts";
import type { Source, SourceHttp } from "../../../../actors/sources/companies/source.ts";
import { scriptedSource } from "../../../harness/companies-harness.ts";
import { csvBatchRoute } from "../../../../gateway/batch.ts";
import { openBodyGrants } from "../../../../gateway/body-access.ts";
import type { Chunk } from "../../../../schemas/jobs.ts";
import { sqliteImports } from "../../../../actors/sources/companies/imports/adapters/imports.sqlite.ts";
import { openImports } from "../../../../actors/sources/companies/imports/imported.ts";
import { gatewayHarness } from "../../../harness/gateway-harness.ts";

const LEI = "5493001KJTIIGC8Y1R12";
const PATH = "/v1/companies/batch/csv";

const NO_SLOT = { kind: "failed", error: "rate_limited", message: "", has_no_slot: true } as const;

/** A source that takes a while, with so many slots: it knows every name that is asked for. */
function slowSource() {
  const asked = { most: 0, refused: 0, answered: [] as string[] };
  let now = 0;
  const searching = (clock: Clock): Source => ({
    ...scriptedSource("slow", "lei", () => ({ core: [] })),
    async search({ name }, http) {
      const slot = await http({ url: "https://slow.example", method: "GET" });
      if (slot.kind === "failed") return slot;
      await sleep(clock, 500);
      now--;
      asked.answered.push(name);
      return { kind: "found", hits: [] };
    },
  });
  const openHttp = (caller: { readonly lane: string }): SourceHttp => {
    expect(caller.lane).toBe("batch");
    return async () => {
      if (now < SLOTS) {
        asked.most = Math.max(asked.most, ++now);
        return {
          kind: "answered",
          status: 200,
          headers: new Map(),
          body: Buffer.of(),
          document: NO_DOCUMENT,
        };
      }
      asked.refused++;
      return { ...NO_SLOT, retry_after_s: 1 };
    };
  };
  return { asked, searching, openHttp };
}
const SLOTS = 4;
const NO_DOCUMENT = { url: "", retrieved_at: "", sha256: "", bytes: 0, content_type: null };

async function uploads(slow?: ReturnType<typeof slowSource>) {
  const documents = memoryDocuments();
  const partsOf = (clock: Clock) =>
    companyItems({
      documents,
      clock,
      index: memoryCompanyIndex(),
      sources: slow ? [slow.searching(clock)] : [],
      imports: openImports({ store: sqliteImports(":memory:"), sources: [], clock }),
      service: { get: async () => ({ company: null, refresh: [] }) },
      openHttp: (_, caller) =>
        slow?.openHttp(caller) ??
        (async () => ({ kind: "failed", error: "none", message: "", retry_after_s: null })),
      bodyGrants: openBodyGrants({ documents, clock }),
    });
  const at = await gatewayHarness({
    documents,
    actors: (around) => [
      schedulerActor(),
      jobActor({
        ...around,
        egress: fakeEgress({}),
        spentBy: async () => 0,
        findPayer: (project, prefix) => findPayer(documents, project, prefix),
        kinds: [partsOf(around.clock).worker],
      }),
    ],
    more: (around) => {
      const { gateway, csv } = partsOf(around.clock);
      return [
        csvBatchRoute(around, gateway, csv!.upload),
        ...jobRoutes({ ...around, kinds: [gateway], csv_results: [{ kind: gateway, names: csv!.results }] }),
      ];
    },
  });
  async function call(...args: Parameters<typeof at.call>) {
    const answer = at.call(...args);
    let isAnswered = false;
    void answer.finally(() => (isAnswered = true)).catch(() => {});
    for (let n = 0; n < 2_000 && !isAnswered; n++) await at.clock.advance(1);
    return answer;
  }
  return {
    ...at,
    call,
    upload: (body: unknown, query = "idempotency_key=k&action=resolve", type = "text/csv") =>
      call("POST", `${PATH}?${query}`, { body, headers: { "content-type": type } }),
    items: async (job_id: string): Promise<readonly unknown[]> => {
      const chunks = await documents.list("job_items", { from: job_id, limit: 10 });
      return chunks.flatMap(({ value }) => (value as Chunk).items);
    },
  };
}

describe("an uploaded file", () => {
  test("becomes a job with the items of its rows and the fields of the query; the same again is the same job", async () => {
    const { upload, items } = await uploads();
    const file = `name,identifiers,country\nAcme,lei:${LEI},US\nZürich AG,,CH\n`;
    const query = "idempotency_key=k&action=resolve&include=people,events&max_age=60";
    const made = await upload(file, query);
    expect([made.status, made.json.created]).toEqual([202, true]);
    const shared = { action: "resolve", include: ["people", "events"], max_age: 60 };
    expect(await items(made.json.job_id)).toEqual([
      { name: "Acme", identifiers: [`lei:${LEI}`], country: "US", ...shared },
      { name: "Zürich AG", country: "CH", ...shared },
    ]);
    expect((await upload(file, query)).json).toEqual({ job_id: made.json.job_id, created: false });
  });

  test.each([
    ["semicolons and a byte-order mark", Buffer.from(`\uFEFFname;country\nMüller;CH\n`)],
    ["Latin-1", Buffer.from("name,country\nMüller,CH\n", "latin1")],
  ])("is read with %s", async (_what, file) => {
    const { upload, items } = await uploads();
    const made = await upload(file);
    expect(await items(made.json.job_id)).toMatchObject([{ name: "Müller", country: "CH" }]);
  });

  test("with a column that is not known is read without it, and the answer says so", async () => {
    const { upload, items } = await uploads();
    const made = await upload("name,colour\nAcme,red\n");
    expect(made).toMatchObject({ status: 202, json: { warnings: ['unknown column "colour"'] } });
    expect(await items(made.json.job_id)).toMatchObject([{ name: "Acme" }]);
  });

  test("may be the field of a form", async () => {
    const { upload, items } = await uploads();
    const form = new FormData();
    form.set("file", new Blob(["name\nAcme\n"], { type: "text/csv" }), "companies.csv");
    const request = new Request("http://x", { method: "POST", body: form });
    const made = await upload(
      Buffer.from(await request.arrayBuffer()),
      undefined,
      request.headers.get("content-type")!,
    );
    expect(await items(made.json.job_id)).toMatchObject([{ name: "Acme" }]);
    const broken = await upload("name\nAcme\n", undefined, "multipart/form-data; boundary=x");
    expect(broken).toMatchObject({ status: 422, json: { detail: [{ loc: ["body", "file"] }] } });
  });

  test.each([
    ['name\nAcme\n"Beta\n', ["body", "row", 3], "quote"],
    ["name\nA,B\n", ["body", "row", 2], "2 cells"],
    ["name,country\nAcme,Switzerland\n", ["body", "row", 2, "country"], ""],
    ["ref\ncmp_1\n", ["body", "row", 2, "ref"], ""],
    [`ref\nlei:${LEI}\n\nlei:${LEI.slice(0, -1)}3\n`, ["body", "row", 4, "ref"], "check"],
    ["ref\nnosuch:1\n", ["body", "row", 2, "ref"], "nosuch"],
    ["name\n", ["body", "items"], "at least 1"],
    ["", ["body"], "no header"],
  ])("is refused with the row of the mistake: %j", async (file, loc, message) => {
    const { upload, documents } = await uploads();
    const answer = await upload(file);
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc }] } });
    expect(answer.json.detail[0].msg).toContain(message);
    expect(await documents.list("job", { limit: 1 })).toEqual([]);
  });

  test("is refused with 413 at its 50,001st row", async () => {
    const { upload } = await uploads();
    const answer = await upload(`name\n${"Acme\n".repeat(50_001)}`);
    expect(answer.status).toBe(413);
    expect(answer.json.detail).toContain("row 50002");
  });

  test.each([
    ["action=resolve", ["query", "idempotency_key"]],
    ["idempotency_key=k&action=delete", ["query", "action"]],
    ["idempotency_key=k&include=secrets", ["query", "include", 0]],
    ["idempotency_key=k&max_age=-1", ["query", "max_age"]],
    ["idempotency_key=k&callback_url=ftp://x", ["query", "callback_url"]],
  ])("is refused for its query %s", async (query, loc) => {
    const { upload } = await uploads();
    const answer = await upload("name\nAcme\n", query);
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc }] } });
  });

  test("of a name alone is refused by get", async () => {
    const { upload } = await uploads();
    const answer = await upload("name\nAcme\n", "idempotency_key=k");
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc: ["body", "row", 2, "ref"] }] } });
  });
});

test("rows that need a source are asked for side by side, and one without a slot waits for its turn", async () => {
  const slow = slowSource();
  const { upload, call, clock } = await uploads(slow);
  const names = Array.from({ length: 20 }, (_, at) => `Kranwerk ${at} GmbH`);
  const { job_id } = (await upload(`name\n${names.join("\n")}\n`)).json;
  const job = async () => (await call("GET", `/v1/jobs/${job_id}`)).json;
  for (let n = 0; n < 500 && (await job()).finished_at === null; n++) await clock.advance(1_000);
  expect((await job()).counts).toMatchObject({ total: 20, done: 20 });
  expect(slow.asked.most).toBe(SLOTS);
  expect(slow.asked.refused).toBeGreaterThan(0);
  expect(slow.asked.answered.toSorted()).toEqual(names.toSorted());
  const results = (await call("GET", `/v1/jobs/${job_id}/results`)).json;
  expect(JSON.stringify(results)).not.toContain("unasked_s");
});

test("results are one row for each item, and another job's are not found", async () => {
  const { upload, call, clock } = await uploads();
  const { job_id } = (await upload(`ref,project_ref\nlei:${LEI},a\n`, "idempotency_key=k")).json;
  const path = `/v1/companies/batch/${job_id}.csv`;
  for (let n = 0; n < 50 && (await call("GET", `/v1/jobs/${job_id}`)).json.finished_at === null; n++)
    await clock.advance(1_000);
  const answer = await call("GET", path);
  expect(answer).toMatchObject({ status: 200, headers: { "content-type": "text/csv; charset=utf-8" } });
  expect(answer.bytes.toString().split("\r\n")).toEqual([
    "index,input,status,company_id,name,country,company_status,legal_form,match_score,identifiers,error",
    `0,lei:${LEI},failed,,,,,,,,not_found`,
    "",
  ]);
  const accepted = await call("GET", `/v1/jobs/${job_id}/results`, { headers: { accept: "text/csv" } });
  expect(accepted.bytes).toEqual(answer.bytes);
  const other = path.replace(job_id, "01a1fed4-907e-7b74-91d6-4c82af9314ba");
  expect((await call("GET", other)).status).toBe(404);
});
