/**
 * The filing system (SEC EDGAR) as a source of companies: a filer's submissions. Its requests go through the filing
 * system's own limiter and cache, like all others.
 *
 * Peculiarities of the source:
 * - An unknown CIK is a 404 with XML. A CIK is text in one document and a number in another.
 * - States and countries have the filing system's own codes: two letters are a US state, a letter and a digit a country
 *   or a Canadian province.
 * - Empty fields hold an empty text, or the text `None`.
 */
import { type Static, Type } from "typebox";
import type { Json, SourceClaim } from "../claim.ts";
import type { OpenSource, RawDocument, SourceDescription } from "../source.ts";
import { claimList } from "./claims.ts";
import { jsonReader, maybe, maybeText, statusFailure } from "./reading.ts";
import { addressOf, categoryOfName, dateOf } from "./values.ts";

const FilerAddress = Type.Object({
  street1: maybeText,
  street2: maybeText,
  city: maybeText,
  stateOrCountry: maybeText,
  zipCode: maybeText,
});
const texts = maybe(Type.Array(Type.Union([Type.String(), Type.Null()])));
const Submissions = Type.Object({
  cik: Type.Union([Type.String(), Type.Integer()]),
  name: Type.String(),
  entityType: maybeText,
  sic: maybeText,
  sicDescription: maybeText,
  category: maybeText,
  ein: maybeText,
  lei: maybeText,
  stateOfIncorporation: maybeText,
  tickers: texts,
  exchanges: texts,
  website: maybeText,
  phone: maybeText,
  addresses: maybe(Type.Object({ mailing: maybe(FilerAddress), business: maybe(FilerAddress) })),
  formerNames: maybe(Type.Array(Type.Object({ name: Type.String(), from: maybeText, to: maybeText }))),
  filings: maybe(
    Type.Object({
      recent: maybe(
        Type.Object({
          accessionNumber: Type.Array(Type.String()),
          form: Type.Array(Type.String()),
          filingDate: Type.Array(Type.String()),
          reportDate: texts,
          primaryDocument: texts,
          primaryDocDescription: texts,
        }),
      ),
    }),
  ),
});
type Submissions = Static<typeof Submissions>;
const readSubmissions = jsonReader(Submissions);

const STATES: ReadonlySet<string> = new Set(
  (
    "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK " +
    "OR PA RI SC SD TN TX UT VT VA WA WV WI WY"
  ).split(" "),
);
/** The filing system's codes of places outside the United States, as ISO 3166; the frequent ones. */
const PLACES: ReadonlyMap<string, string> = new Map(
  (
    "A0 CA-AB|A1 CA-BC|A2 CA-MB|A3 CA-NB|A4 CA-NL|A5 CA-NS|A6 CA-ON|A7 CA-PE|A8 CA-QC|A9 CA-SK|B0 CA-YT|Z4 CA|C3 AU|" +
    "C4 AT|C5 BS|C9 BE|D0 BM|D5 BR|D8 VG|E9 KY|F3 CL|F4 CN|F5 TW|F8 CO|G4 CY|G7 DK|H9 FI|I0 FR|2M DE|J3 GR|K3 HK|" +
    "K5 HU|K7 IN|K8 ID|L2 IE|L3 IL|L6 IT|M0 JP|M5 KR|N4 LU|N8 MY|O5 MX|P7 NL|Q2 NZ|Q8 NO|R5 PE|R6 PH|R9 PL|S1 PT|" +
    "T3 ZA|U0 SG|U3 ES|V7 SE|V8 CH|W1 TH|W8 TR|X0 GB|X3 UY|Y7 GG|Y8 IM|Y9 JE|1T MH"
  )
    .split("|")
    .map((pair) => pair.split(" ") as [string, string]),
);
const placeOf = (code: string | null | undefined): string | null =>
  code && STATES.has(code) ? `US-${code}` : (PLACES.get(code ?? "") ?? null);

/** Market identifier codes by the exchange's name. */
const MARKETS: Readonly<Record<string, string>> = {
  Nasdaq: "XNAS",
  NYSE: "XNYS",
  "NYSE American": "XASE",
  "NYSE Arca": "ARCX",
  CBOE: "BATS",
  OTC: "OTCM",
};

/** A field that the filing system leaves empty is an empty text, or `None`. */
const given = (text: string | null | undefined): string | null => {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" || trimmed === "None" ? null : trimmed;
};

function address(type: "mailing" | "business", written: Static<typeof FilerAddress>): Json | null {
  const place = placeOf(given(written.stateOrCountry));
  return addressOf({
    type,
    lines: [given(written.street1), given(written.street2)],
    postal_code: given(written.zipCode),
    city: given(written.city),
    region: place?.includes("-") ? place : null,
    country: place?.slice(0, 2) ?? null,
    language: "en",
  });
}

export function coreClaims(document: RawDocument, filer: Submissions): readonly SourceClaim[] {
  const list = claimList(document);
  list.set("names.legal", filer.name);
  for (const { name, from, to } of filer.formerNames ?? [])
    list.name("names.former", name, { type: "former", valid_from: dateOf(from), valid_to: dateOf(to) });
  const jurisdiction = placeOf(given(filer.stateOfIncorporation));
  list.set("jurisdiction", jurisdiction, { raw_value: filer.stateOfIncorporation ?? null });
  const category = categoryOfName(filer.name, jurisdiction?.slice(0, 2) ?? "US");
  if (category !== null) list.set("legal_form", { category });
  for (const type of ["business", "mailing"] as const) {
    const written = filer.addresses?.[type];
    if (written) list.add("addresses", type, address(type, written));
  }
  const sic = given(filer.sic);
  if (sic !== null)
    list.add("activities", `sic_us:${sic}`, {
      scheme: "sic_us",
      code: sic,
      label: given(filer.sicDescription),
      primary: true,
    });
  list.set("size.filer_category", given(filer.category));
  return list.claims;
}

interface Listing {
  readonly symbol: string;
  readonly exchange: string | null;
  readonly mic: string | null;
}
const listingsOf = ({ tickers, exchanges }: Submissions): readonly Listing[] =>
  (tickers ?? []).flatMap((ticker, at) => {
    const symbol = given(ticker);
    const exchange = given(exchanges?.[at]);
    return symbol === null ? [] : [{ symbol, exchange, mic: MARKETS[exchange ?? ""] ?? null }];
  });

function identifierClaims(document: RawDocument, filer: Submissions): readonly SourceClaim[] {
  const list = claimList(document);
  list.identifier("us_cik", String(filer.cik));
  list.identifier("us_ein", given(filer.ein)?.replace(/^0{9}$/, "") ?? null);
  list.identifier("lei", given(filer.lei));
  for (const { mic, symbol } of listingsOf(filer))
    if (mic !== null) list.identifier("ticker", `${mic}:${symbol}`);
  return list.claims;
}

function securityClaims(document: RawDocument, filer: Submissions): readonly SourceClaim[] {
  const list = claimList(document);
  for (const [at, { symbol, exchange, mic }] of listingsOf(filer).entries())
    list.add("securities", `ticker:${mic ?? ""}:${symbol}`, {
      ticker: symbol,
      mic,
      exchange,
      primary: at === 0,
      status: "listed",
    });
  return list.claims;
}

function webClaims(document: RawDocument, filer: Submissions): readonly SourceClaim[] {
  const list = claimList(document);
  const site = given(filer.website);
  if (site !== null)
    list.set("web.homepage", /^https?:\/\//i.test(site) ? site : `https://${site}`, { raw_value: site });
  const phone = given(filer.phone);
  list.add("web.phones", phone ?? "", phone);
  return list.claims;
}

/** The newest filings only; the filing system itself lists them all. */
const MAX_FILINGS = 100;

const ARCHIVES = "https://www.sec.gov/Archives/edgar/data";

function filingClaims(document: RawDocument, { cik, filings }: Submissions): readonly SourceClaim[] {
  const list = claimList(document);
  const { accessionNumber, form, filingDate, reportDate, primaryDocument, primaryDocDescription } =
    filings?.recent ?? {};
  for (const [at, accession] of (accessionNumber ?? []).slice(0, MAX_FILINGS).entries()) {
    const date = dateOf(filingDate?.[at]);
    const type = form?.[at];
    if (date === null || type === undefined) continue;
    list.add("filings", accession, {
      id: accession,
      source: "sec_edgar",
      type,
      title: given(primaryDocDescription?.[at]),
      date,
      period_end: dateOf(given(reportDate?.[at])),
      accession,
      // Without a main document, its folder.
      url: `${ARCHIVES}/${Number(cik)}/${accession.replaceAll("-", "")}/${primaryDocument?.[at] ?? ""}`,
      amendment: type.endsWith("/A"),
    });
  }
  return list.claims;
}

const DESCRIPTION: SourceDescription = {
  name: "sec_edgar",
  title: "SEC EDGAR filers",
  countries: ["US"],
  schemes: { lookup: ["us_cik"], yields: ["us_cik", "us_ein", "lei", "ticker"] },
  home_register_of: [],
  capabilities: ["lookup", "filings", "securities"],
  groups: {
    core: { precedence: 75, freshness: "filer_core" },
    identifiers: { precedence: 75, freshness: "filer_core" },
    web: { precedence: 75, freshness: "filer_core" },
    // The regulator knows the listings; registers do not.
    securities: { precedence: 100, freshness: "filer_core" },
    filings: { precedence: 100, freshness: "filings" },
  },
  licence: {
    id: "LicenseRef-us-public-domain",
    url: "https://www.sec.gov/privacy#dissemination",
    attribution: null,
    redistribution: "open",
  },
  terms_url: "https://www.sec.gov/os/accessing-edgar-data",
  limits: { requests_per_second: 8, max_in_flight: 4 },
  parser_version: "2",
  canaries: [
    {
      identifier: { scheme: "us_cik", value: "0000320193" },
      expect: [{ field: "names.legal", key: null, value: "Apple Inc." }],
    },
  ],
};

export const openSecEdgar: OpenSource = ({ base_url, inactive_because = null }) => ({
  description: DESCRIPTION,
  inactive_because,

  async lookup({ value }, _groups, http) {
    const response = await http({
      method: "GET",
      url: `${base_url}/submissions/CIK${value}.json`,
      max_bytes: 2 ** 25,
    });
    if (response.kind === "failed") return response;
    const { document } = response;
    if (response.status === 404) return { kind: "not_found", documents: [document] };
    if (response.status !== 200) return statusFailure(response);
    const reading = readSubmissions(response);
    if (reading.kind === "failed") return reading;
    const filer = reading.value;
    const own = { kind: "claims", is_complete: true, documents: [document] } as const;
    return {
      kind: "found",
      native_id: String(filer.cik).padStart(10, "0"),
      groups: [
        { group: "core", ...own, claims: coreClaims(document, filer) },
        { group: "identifiers", ...own, claims: identifierClaims(document, filer) },
        { group: "securities", ...own, claims: securityClaims(document, filer) },
        { group: "web", ...own, claims: webClaims(document, filer) },
        { group: "filings", ...own, is_complete: false, claims: filingClaims(document, filer) },
      ],
    };
  },
});
