/** `npm run lists` over pages as GLEIF's API sends them: the lists are written anew, and codes that are gone stay. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const AUTHORITIES = [
  {
    code: "RA000247",
    internationalName: "Commercial Register",
    localName: "Handelsregister",
    internationalOrganizationName: "Local Court Fürth",
    localOrganizationName: "Amtsgericht Fürth",
    jurisdictions: [{ countryCode: "DE" }],
  },
  {
    code: "RA000189",
    internationalName: "Register of Companies (Sirene)",
    localName: "Sirene",
    internationalOrganizationName: null,
    localOrganizationName: null,
    jurisdictions: [{ countryCode: "WF" }, { countryCode: "FR" }],
  },
];
const FORMS = [
  {
    code: "2HBR",
    countryCode: "DE",
    names: [{ localName: "Gesellschaft mit beschränkter Haftung", transliteratedName: null }],
    abbreviations: [{ localAbbreviation: "GmbH;Ges.m.b.H." }],
  },
  { code: "9999", countryCode: null, names: [] },
];

test("npm run lists writes GLEIF's lists of several pages, and keeps codes that are gone", async () => {
  const into = mkdtempSync(join(tmpdir(), "lists-"));
  for (const [file, row] of [
    ["registration-authorities.json", ["XX", "Gone"]],
    ["legal-forms.json", ["XX", "Gone", null, null]],
  ] as const)
    writeFileSync(join(into, file), JSON.stringify({ rows: { GONE: row } }));
  const server = createServer((request, response) => {
    const url = new URL(request.url!, "http://gleif.test");
    const all = url.pathname === "/registration-authorities" ? AUTHORITIES : FORMS;
    const page = Number(url.searchParams.get("page[number]"));
    const data = all.slice(page - 1, page).map((attributes) => ({ attributes }));
    response.end(JSON.stringify({ meta: { pagination: { lastPage: all.length } }, data }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const run = ["ops/lists/renew.ts", "--api", api, "--into", into];
  await promisify(execFile)(process.execPath, run);
  server.close();
  const rowsOf = (file: string) => JSON.parse(readFileSync(join(into, file), "utf8")).rows;
  expect(rowsOf("registration-authorities.json")).toEqual({
    GONE: ["XX", "Gone"],
    RA000189: ["FR", "Register of Companies (Sirene)"],
    RA000247: ["DE", "Amtsgericht Fürth"],
  });
  expect(rowsOf("legal-forms.json")).toEqual({
    "2HBR": ["DE", "Gesellschaft mit beschränkter Haftung", "GmbH", "private_limited"],
    GONE: ["XX", "Gone", null, null],
  });
  rmSync(into, { recursive: true });
});
