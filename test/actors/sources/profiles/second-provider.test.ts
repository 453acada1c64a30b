/** The rest of the slice does not care which site it asks: the same operations over another provider. */
import { expect, test } from "vitest";
import { directory } from "../../../harness/directory-provider.ts";
import { page, type Play, profilesWorld, SITE } from "../../../harness/profiles-harness.ts";

const ROWS = { Firm: "Seilbahn Probe AG", "No.": "4711", Town: "Zug", State: "Active", Key: "f7" };
const TABLE = `<table class="firm">${Object.entries(ROWS)
  .map(([name, value]) => `<tr><th>${name}</th><td>${value}</td></tr>`)
  .join("")}</table><p>${"A page of the directory. ".repeat(20)}</p>`;

const site: Play = ({ url }) => {
  const { pathname } = new URL(url);
  if (pathname.startsWith("/complete/")) return page([["Seilbahn Probe", "/firm/ch/4711/seilbahn-probe-ag"]]);
  if (pathname === "/links/f7.json") return page({ owners: ["Bergbahn Holding AG"] });
  return page(pathname.endsWith("/locked") ? `<p id="sign-in-to-read">${"x ".repeat(200)}` : TABLE, { url });
};

test("a profile is discovered by name, read and completed by its graph", async () => {
  const { run, sent } = profilesWorld({ proxy: site }, { provider: directory });
  const answer = await run("profile", { company_name: "Seilbahn Probe AG", country: "Schweiz" });
  expect(answer).toMatchObject({
    error: null,
    graph_error: null,
    discovery: { url: `${SITE}/firm/ch/4711/seilbahn-probe-ag`, discovery_method: "suggest" },
    profile: {
      name: "Seilbahn Probe AG",
      legal_form: "AG",
      register_id: "4711",
      city: "Zug",
      path_country: "CH",
      related: [{ name: "Bergbahn Holding AG", relation: "related" }],
      provider: "directory",
      parser_version: "1",
    },
  });
  expect(sent.map(({ url }) => new URL(url).pathname)).toEqual([
    "/complete/Seilbahn%20Probe%20AG",
    "/firm/ch/4711/seilbahn-probe-ag",
    "/links/f7.json",
  ]);
});

test("its walls and its addresses are its own", async () => {
  const { run } = profilesWorld({ proxy: site }, { provider: directory });
  expect(await run("profile", { url: `${SITE}/firm/ch/1/locked` })).toMatchObject({ error: "blocked" });
  expect(await run("profile", { url: `${SITE}/Kran,+Zug/HRB+12345` })).toMatchObject({
    error: "invalid_identifier",
  });
  expect(await run("graph", { entity_id: "9000000001" })).toMatchObject({ error: "invalid_identifier" });
});
