/** `trawl company` and `trawl companies` as people read them: against a real socket, with a register in memory. */
import { afterAll, expect, test } from "vitest";
import { openCursors } from "../../actors/sources/companies/cursor.ts";
import { operatorRoutes } from "../../actors/sources/companies/feature/operator-routes.ts";
import { recordRoutes } from "../../actors/sources/companies/feature/record-routes.ts";
import { registerRoutes } from "../../actors/sources/companies/feature/register-routes.ts";
import { companyService } from "../../actors/sources/companies/service.ts";
import { openHealth } from "../../actors/sources/companies/source-health.ts";
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import { listenNode } from "../../gateway/adapters/http.node.ts";
import { openBodyGrants } from "../../gateway/body-access.ts";
import { trawl } from "../../ops/cli.ts";
import { readConfig } from "../../ops/config.ts";
import { identifier, oneRegister, type ScriptedClaim, scriptedSource } from "../harness/companies-harness.ts";
import { gatewayHarness } from "../harness/gateway-harness.ts";

const LEI = "529900T8BM49AURSDO55";
const OTHER = "529900W3MOO00A18X956";
let name = "Alpina AG";
const person: ScriptedClaim = [
  "people",
  {
    party: { kind: "person", name: "Erika Beispiel" },
    role: { group: "management", label: "Director" },
    current: true,
  },
  "erika beispiel|management|",
];
const CANARY = { identifier: { scheme: "lei", value: "529900ZZZZZZZZZZZZ00" }, expect: [] };
const register = oneRegister(() => [
  scriptedSource(
    "gleif",
    "lei",
    ({ value }) =>
      value === CANARY.identifier.value
        ? { kind: "not_found", documents: [] }
        : {
            core: [
              ["names.legal", value === LEI ? name : "Nordwind AS"],
              ["status", "active"],
              identifier("lei", value),
            ],
            people: [person],
          },
    { canaries: [CANARY] },
  ),
  { ...scriptedSource("closed", "ch_uid", () => ({})), inactive_because: "TRAWL_CLOSED_KEY is not set" },
]);
const { documents, clock, sources, people, index, imports } = register;
const ask = register.ask();
const { log } = register;
const routes = [
  ...operatorRoutes({ sources, people, index, ask }),
  ...registerRoutes({ sources, health: openHealth({ documents, clock, log }) }),
  ...recordRoutes({
    service: companyService({
      documents,
      clock,
      ask,
      sources,
      imports,
      allowsPaid: async () => false,
      spentBy: async () => 0,
    }),
    sources,
    cursors: openCursors(documents),
    bodyGrants: openBodyGrants({ documents, clock }),
    clock,
  }),
];
const { admit, failed, operator, key } = await gatewayHarness({ more: routes });
const listening = await listenNode(admit, { host: "127.0.0.1", port: 0, shared: false, failed });
afterAll(() => listening.close(0));

async function run(...words: string[]) {
  const output = { out: [] as string[], err: [] as string[] };
  const code = await trawl(words, {
    environment: { TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator },
    config: () => readConfig({ TRAWL_URL: `http://127.0.0.1:${listening.port}`, TRAWL_KEY: operator }),
    openDocuments: async () => memoryDocuments(),
    openNodeDirectory: () => Promise.reject(new Error("unused")),
    now: () => 0,
    out: (line) => output.out.push(line),
    err: (line) => output.err.push(line),
    starting: () => Promise.reject(new Error("unused")),
    version: "0.0.0",
  });
  return { code, out: output.out.join("\n"), err: output.err.join("\n") };
}

test("shows a company and its history", async () => {
  const shown = await run("company", "show", `lei:${LEI}`, "--include", "people");
  expect(shown.code).toBe(0);
  expect(shown.out).toMatch(/^Alpina AG \(cmp_\w{16}\)\nactive\nlei:529900T8BM49AURSDO55\ncompleteness/);
  expect(shown.out).toMatch(/gleif\s+core\s+refreshed/);
  name = "Alpina Technik AG";
  await clock.advance(1_000);
  await run("company", "show", `lei:${LEI}`, "--refresh");
  const history = await run("company", "history", `lei:${LEI}`, "--field", "names.legal");
  expect(history.out.split("\n")).toEqual([
    expect.stringMatching(/^OBSERVED\s+UNTIL\s+SOURCE\s+FIELD\s+VALUE$/),
    expect.stringMatching(/current\s+gleif\s+names\.legal\s+Alpina Technik AG$/),
    expect.stringMatching(/\d\.\d{3}Z\s+2026-\S+\s+gleif\s+names\.legal\s+Alpina AG$/),
  ]);
  const json = await run("company", "history", `lei:${LEI}`, "--limit", "1", "--json");
  expect(JSON.parse(json.out).items).toHaveLength(1);
  expect(await run("company", "show", "lei:1")).toMatchObject({
    code: 2,
    err: expect.stringContaining("422"),
  });
});

test("merges companies, undoes it, and removes a person", async () => {
  const idOf = async (lei: string): Promise<string> =>
    JSON.parse((await run("company", "show", `lei:${lei}`, "--include", "people", "--json")).out).id;
  const [one, two] = [await idOf(LEI), await idOf(OTHER)];
  expect(await run("company", "merge", two, "--into", one)).toMatchObject({
    code: 0,
    out: `${two} is merged into ${one}`,
  });
  expect((await run("company", "show", two)).out).toContain(`merged: ${two} redirects here`);
  expect((await run("company", "undo", two)).out).toBe(`${two} and ${one} are two companies again`);
  expect((await run("company", "undo", two)).out).toBe(`${two} was not merged`);
  expect((await run("company", "forget-person", "beispiel, ERIKA")).out).toBe(
    "2 claims of 2 companies are removed",
  );
  await run("company", "show", one, "--refresh", "--include", "people");
  const again = JSON.parse((await run("company", "show", one, "--include", "people", "--json")).out);
  expect(again.people).toEqual([]);
  const standard = await key();
  expect(await run("company", "undo", two, "--key", standard)).toMatchObject({
    code: 4,
    err: expect.stringContaining("operator_only"),
  });
});

test("lists the sources, and checks those that are active", async () => {
  const listed = await run("companies", "sources");
  expect(listed.out).toMatch(/^SOURCE\s+STATE/);
  expect(listed.out).toContain("inactive: TRAWL_CLOSED_KEY is not set");
  const checked = await run("companies", "sources", "check");
  expect(checked).toMatchObject({
    code: 3,
    out: expect.stringMatching(/gleif\s+lei:529900ZZ\S+ is not known/),
  });
  expect(checked.out).not.toContain("closed");
  expect(await run("companies", "sources", "check", "nosuch")).toMatchObject({ code: 2 });
});
