import { afterEach, describe, expect, test } from "vitest";
import type { RegisterQuery } from "../../../../actors/sources/filings/register.ts";
import { filingRegister } from "../../../../actors/sources/companies/feature/filing-register.ts";
import type { SourceHttp } from "../../../../actors/sources/companies/source.ts";
import { openGleif } from "../../../../actors/sources/companies/sources/gleif.ts";
import { openOpenFigi } from "../../../../actors/sources/companies/sources/openfigi.ts";
import { identifier, oneRegister, scriptedSource } from "../../../harness/companies-harness.ts";
import { recordedHttp } from "../../../harness/recorded-http.ts";

const LEI = "5493001KJTIIGC8Y1R12";
const finder = () => {
  const find = filingRegister({ ...register, ask: register.ask() });
  return (question: RegisterQuery) => find(question, { project: "default", lane: "sync" });
};
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
  const find = finder();
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
  const find = finder();
  expect(await find({ by: "listing", listing: "ALPN" })).toEqual({ kind: "unknown" });
  expect(await find({ by: "listing", listing: "ALPN.L" })).toMatchObject({ names: ["Alpenland Plc"] });
  expect(await find({ by: "listing", listing: "SWX:ALPN" })).toMatchObject({ listing: "XSWX:ALPN" });
});

describe("a company that nobody has asked for", () => {
  const SKR = "529900T8BM49AURSDO55";
  const [ISIN, SHARE_CLASS] = ["DE000A2SH128", "BBG001S5S399"];
  const GLEIF = "http://gleif.test";
  const record = (lei: string, name: string, country: string) => ({
    id: lei,
    attributes: {
      lei,
      entity: { legalName: { name }, legalAddress: { country }, jurisdiction: country, status: "ACTIVE" },
      registration: { status: "ISSUED" },
    },
  });
  const line = (
    exchCode: string,
    ticker: string,
    name = "SEEKRAN SE-REG",
    securityType2 = "Common Stock",
  ) => ({
    figi: exchCode === "GY" ? "BBG000BLNNH6" : "BBG000BLNQ16",
    name,
    ticker,
    exchCode,
    shareClassFIGI: SHARE_CLASS,
    securityType2,
  });
  /** OpenFIGI's answer to each job. */
  const mapping = (job: { idType: string; idValue: string; exchCode?: string }) => {
    if (job.idValue === ISIN || job.idValue === SHARE_CLASS)
      return { data: [line("GF", "SKR"), line("EU", "SKR"), line("LN", "0SKR"), line("GY", "SKR")] };
    if (job.exchCode === "GY" && job.idValue === "SKR") return { data: [line("GY", "SKR")] };
    if (job.exchCode === "LN" && job.idValue === "SKR") return { data: [line("LN", "SKR", "SKERRIES PLC")] };
    return { warning: "No identifier found." };
  };
  let asked: string[];
  const start = (names: readonly (readonly [lei: string, name: string, country: string])[]) => {
    asked = [];
    const http: SourceHttp = async (request) => {
      const url = new URL(request.url);
      const job = request.body === undefined ? null : JSON.parse(request.body)[0];
      asked.push(job === null ? url.pathname + url.search : `${job.idValue} ${job.exchCode ?? ""}`.trim());
      const all = names.map((each) => record(...each));
      const isin = url.searchParams.get("filter[isin]");
      const one = all.find(({ id }) => url.pathname.endsWith(id));
      const body =
        job !== null
          ? [mapping(job)]
          : one
            ? { data: one }
            : { data: isin === null ? all : isin === ISIN ? all.filter(({ id }) => id === SKR) : [] };
      return recordedHttp({ [request.url]: { body } }).http(request);
    };
    register = oneRegister(
      () => [
        openGleif({ base_url: GLEIF, credentials: null }),
        openOpenFigi({ base_url: "http://figi.test", credentials: null }),
      ],
      undefined,
      () => http,
    );
    return finder();
  };
  const ours = [
    [SKR, "Seekran SE", "DE"],
    [LEI, "Seekran Holding AG", "CH"],
  ] as const;

  test("is found by its ISIN, with its listings, the home market first", async () => {
    const find = start(ours);
    const found = await find({ by: "isin", isin: ISIN });
    expect(found).toMatchObject({
      kind: "known",
      company: {
        name: "Seekran SE",
        lei: SKR,
        isins: [ISIN],
        listings: ["XETR:SKR", "XFRA:SKR", "XLON:0SKR"],
      },
      listing: "XETR:SKR",
    });
    const requests = asked.length;
    expect(await find({ by: "isin", isin: ISIN })).toEqual(found);
    // From now on by its listings, and by the share class.
    expect(await find({ by: "listing", listing: "SKR.F" })).toEqual(found);
    expect(await register.get(`figi:${SHARE_CLASS}`)).toMatchObject({
      company: { id: (found as { company: { id: string } }).company.id },
    });
    expect(asked.length).toBe(requests);
  });

  test.each(["SKR.DE", "XETR:SKR", "ETR:SKR"])("is found by its listing %s", async (listing) => {
    const find = start(ours);
    expect(await find({ by: "listing", listing })).toMatchObject({
      kind: "known",
      company: { name: "Seekran SE", lei: SKR, listings: ["XETR:SKR", "XFRA:SKR", "XLON:0SKR"] },
      listing: "XETR:SKR",
    });
    expect((await register.get("ticker:XETR:SKR"))!.company.record.names.legal).toBe("Seekran SE");
  });

  test("is not found by the listing of a company of another name, or by one of no name", async () => {
    const find = start(ours);
    expect(await find({ by: "listing", listing: "SKR.L" })).toEqual({ kind: "unknown" });
    expect(await find({ by: "listing", listing: "NONE.DE" })).toEqual({ kind: "unknown" });
    expect(await find({ by: "isin", isin: "CH0038863350" })).toEqual({ kind: "unknown" });
  });

  test("is not taken for one of two of its name", async () => {
    const find = start([...ours, ["HWUPKR0MPOU8FGXBT394", "Seekran SE", "DE"]]);
    expect(await find({ by: "listing", listing: "SKR.DE" })).toEqual({ kind: "unknown" });
  });

  test("is stored already: a listing adds to it, and makes no second company", async () => {
    const find = start(ours);
    const { company } = (await register.get(`lei:${SKR}`))!;
    expect(await find({ by: "listing", listing: "SKR.DE" })).toMatchObject({
      company: { id: company.id, listings: ["XETR:SKR", "XFRA:SKR", "XLON:0SKR"] },
    });
  });

  test("a ticker without its market asks no source", async () => {
    const find = start(ours);
    expect(await find({ by: "listing", listing: "SKR" })).toEqual({ kind: "unknown" });
    expect(asked).toEqual([]);
  });
});
