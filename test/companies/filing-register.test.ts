import { afterEach, expect, test } from "vitest";
import { filingRegister } from "../../actors/sources/companies/feature/filing-register.ts";
import { identifier, oneRegister, scriptedSource } from "../harness/companies-harness.ts";

const LEI = "5493001KJTIIGC8Y1R12";
let register: ReturnType<typeof oneRegister>;
afterEach(() => register.stop());

test("the filing slice finds a company by ISIN, by listing and by name, and no other", async () => {
  register = oneRegister((now) => [
    scriptedSource(
      "gleif",
      "lei",
      () => ({
        core: [
          ["names.legal", "Alpina Maschinenbau AG"],
          ["jurisdiction", "CH"],
          identifier("lei", LEI),
          identifier("us_cik", "0001114448"),
          [
            "securities",
            { isin: "CH0012005267", ticker: "ALPN", mic: "XSWX", status: "listed" },
            "CH0012005267",
          ],
        ],
      }),
      {},
      now,
    ),
  ]);
  const { company } = (await register.get(`lei:${LEI}`))!;
  const find = filingRegister(register);
  const known = {
    kind: "known",
    company: {
      id: company.id,
      name: "Alpina Maschinenbau AG",
      country: "CH",
      listings: ["XSWX:ALPN"],
      lei: LEI,
      isins: ["CH0012005267"],
    },
    listing: "XSWX:ALPN",
    names: ["Alpina Maschinenbau AG"],
    us_cik: 1_114_448,
  };
  expect(await find({ by: "isin", isin: "CH0012005267" })).toEqual(known);
  for (const listing of ["XSWX:ALPN", "SWX:ALPN", "ALPN.SW", "ALPN"])
    expect([listing, await find({ by: "listing", listing })]).toEqual([listing, known]);
  for (const listing of ["XLON:ALPN", "ALPN.L", "ALP.SW", "ALPN.N"])
    expect([listing, await find({ by: "listing", listing })]).toEqual([listing, { kind: "unknown" }]);
  expect(await find({ by: "name", name: "Alpina Maschinenbau" })).toEqual(known);
  expect(await find({ by: "isin", isin: "CH0038863350" })).toEqual({ kind: "unknown" });
  expect(await find({ by: "name", name: "Nordwind Reederei" })).toEqual({ kind: "unknown" });
});

test("a plain ticker that companies on several markets have finds none of them; with its market it finds one", async () => {
  const companies: Record<string, readonly [name: string, mic: string]> = {
    [LEI]: ["Alpina Maschinenbau AG", "XSWX"],
    "529900T8BM49AURSDO55": ["Alpenland Plc", "XLON"],
  };
  register = oneRegister((now) => [
    scriptedSource(
      "gleif",
      "lei",
      ({ value }) => {
        const [name, mic] = companies[value]!;
        return {
          core: [
            ["names.legal", name],
            identifier("lei", value),
            ["securities", { ticker: "ALPN", mic, status: "listed" }, `ticker:${mic}:ALPN`],
          ],
        };
      },
      {},
      now,
    ),
  ]);
  for (const lei of Object.keys(companies)) await register.get(`lei:${lei}`);
  const find = filingRegister(register);
  expect(await find({ by: "listing", listing: "ALPN" })).toEqual({ kind: "unknown" });
  expect(await find({ by: "listing", listing: "ALPN.L" })).toMatchObject({ names: ["Alpenland Plc"] });
  expect(await find({ by: "listing", listing: "SWX:ALPN" })).toMatchObject({ listing: "XSWX:ALPN" });
});
