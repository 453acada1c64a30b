/**
 * OpenFIGI: the markets on which a company's shares are listed, by ISIN or by market and ticker.
 *
 * Peculiarities of the source:
 * - No answer has an ISIN, a MIC or an LEI: it tells the listings of a company that another source knows, and never makes one.
 * - Names are in capitals and abbreviated (`INTL BUSINESS MACHINES CORP`). A ticker is taken for a company's only where the name fits
 *   and the market is in the company's country.
 * - What it does not find is a `warning` and what it does not understand an `error`, both with status 200.
 * - One ISIN has up to 200 lines, one for each venue and each composite of a country; those without a MIC are left out.
 * - Without a key it takes 25 requests a minute, with one 25 in 6 s.
 */
import { Type } from "typebox";
import type { SourceClaim } from "../claim.ts";
import { MATCH_THRESHOLD } from "../names/resolve.ts";
import { prepareName, scoreNames } from "../names/score.ts";
import { countryOfMarket, figiCodeOf, micOfFigiCode } from "../schemes/listings.ts";
import type {
  CompanyIdentifier,
  KnownCompany,
  OpenSource,
  RawDocument,
  SourceDescription,
  SourceFailure,
  SourceHttp,
} from "../source.ts";
import { claimList } from "./claims.ts";
import { jsonReader, maybeText, statusFailure } from "./reading.ts";

const Line = Type.Object({
  figi: Type.String(),
  name: maybeText,
  ticker: maybeText,
  exchCode: maybeText,
  shareClassFIGI: maybeText,
  securityType2: maybeText,
});
const readMapping = jsonReader(
  Type.Array(
    Type.Object({
      data: Type.Optional(Type.Array(Line)),
      warning: Type.Optional(Type.String()),
      error: Type.Optional(Type.String()),
    }),
    { minItems: 1, maxItems: 1 },
  ),
);

/** Shares, and certificates of shares; not options, funds and bonds. */
const TYPES: Readonly<Record<string, "equity" | "depositary_receipt">> = {
  "Common Stock": "equity",
  Preference: "equity",
  REIT: "equity",
  "Depositary Receipt": "depositary_receipt",
};

/** A line of a share on a market that has a MIC. */
interface Listing {
  readonly mic: string;
  readonly ticker: string;
  readonly figi: string;
  readonly share_class: string;
  readonly name: string;
  readonly type: "equity" | "depositary_receipt";
}

interface Job {
  readonly idType: "ID_ISIN" | "TICKER" | "ID_BB_GLOBAL_SHARE_CLASS_LEVEL";
  readonly idValue: string;
  readonly exchCode?: string;
}

/** Markets whose classes of shares OpenFIGI writes without a sign: `ERICB`. */
const JOINED_CLASSES: ReadonlySet<string> = new Set(["XSTO", "XCSE", "XHEL"]);

/** Null: a market that OpenFIGI has no code for. */
function jobOf({ scheme, value }: CompanyIdentifier): Job | null {
  if (scheme === "isin") return { idType: "ID_ISIN", idValue: value };
  const { mic, symbol } = listingOf(value);
  const exchCode = figiCodeOf(mic);
  const idValue = symbol.replaceAll(/[.-]/g, JOINED_CLASSES.has(mic) ? "" : "/");
  return exchCode === undefined ? null : { idType: "TICKER", idValue, exchCode };
}

const listingOf = (value: string) => {
  const [mic = "", symbol = ""] = value.split(":");
  return { mic, symbol };
};

/** Suffixes behind the name of the company in the name of a share. */
const SHARE =
  /-(?:REG|REGISTERED|BEARER|BR|PC|PART CERT|(?:UN)?SPON(?:SORED)? ?ADR|ADR|GDR|PREF?|PRF|PFD|CL ?[A-C]|[A-C]|[A-C] SHS?|VTG|NON-VTG|DI)$/;

type Mapped =
  | { readonly kind: "mapped"; readonly document: RawDocument; readonly listings: readonly Listing[] }
  | SourceFailure;

interface Access {
  readonly base_url: string;
  readonly key: string | null;
}

async function map({ base_url, key }: Access, job: Job, http: SourceHttp): Promise<Mapped> {
  const response = await http({
    method: "POST",
    url: `${base_url}/mapping`,
    headers: key === null ? [] : [["X-OPENFIGI-APIKEY", key]],
    body: JSON.stringify([job]),
  });
  if (response.kind === "failed") return response;
  if (response.status !== 200) return statusFailure(response);
  const reading = readMapping(response);
  if (reading.kind === "failed") return reading;
  const lines = reading.value[0]?.data ?? [];
  const listings = lines.flatMap(
    ({ figi, name, ticker, exchCode, shareClassFIGI, securityType2 }): readonly Listing[] => {
      const mic = micOfFigiCode(exchCode ?? "");
      const type = TYPES[securityType2 ?? ""];
      const symbol = ticker?.replaceAll("/", ".").replace(/\.$/, "");
      if (mic === undefined || type === undefined || !symbol || !/^[A-Z0-9.-]{1,12}$/.test(symbol)) return [];
      const plain = (name ?? "").replace(SHARE, "").trim();
      return [{ mic, ticker: symbol, figi, share_class: shareClassFIGI ?? figi, name: plain, type }];
    },
  );
  return { kind: "mapped", document: response.document, listings };
}

/** An ISIN is the company's; a ticker is only where the listing is in its country and under its name. */
function isOf(
  { scheme }: CompanyIdentifier,
  { mic, name, share_class }: Listing,
  company: KnownCompany,
): boolean {
  if (scheme === "isin") return true;
  if (company.identifiers.some((each) => each.scheme === "figi" && each.value === share_class)) return true;
  const prepared = prepareName(name);
  return (
    countryOfMarket(mic) === company.country &&
    company.names.some((each) => scoreNames(prepared, prepareName(each)) >= MATCH_THRESHOLD * 100)
  );
}

function securityClaims(
  document: RawDocument,
  { scheme, value }: CompanyIdentifier,
  listings: readonly Listing[],
): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { mic, ticker, figi, name, type } of listings)
    list.add("securities", `ticker:${mic}:${ticker}`, {
      ...(scheme === "isin" && { isin: value }),
      figi,
      ticker,
      mic,
      name,
      type,
      status: "listed",
    });
  return list.claims;
}

function identifierClaims(document: RawDocument, listings: readonly Listing[]): readonly SourceClaim[] {
  const list = claimList(document);
  for (const { share_class } of listings) list.identifier("figi", share_class);
  return list.claims;
}

const PER_MINUTE = 25;
const PER_MINUTE_WITH_KEY = 250;

const descriptionOf = (hasKey: boolean): SourceDescription => ({
  name: "openfigi",
  title: "OpenFIGI listings",
  countries: ["*"],
  schemes: { lookup: ["isin", "ticker"], yields: ["figi", "ticker"] },
  home_register_of: [],
  capabilities: ["lookup", "securities"],
  needs_name: true,
  groups: {
    identifiers: { precedence: 40, freshness: "securities" },
    securities: { precedence: 40, freshness: "securities" },
  },
  licence: {
    id: "LicenseRef-openfigi",
    url: "https://www.openfigi.com/docs/terms-of-service",
    attribution: "OpenFIGI",
    redistribution: "display",
  },
  terms_url: "https://www.openfigi.com/docs/terms-of-service",
  limits: { requests_per_second: (hasKey ? PER_MINUTE_WITH_KEY : PER_MINUTE) / 60, max_in_flight: 1 },
  parser_version: "1",
  canaries: [
    {
      identifier: { scheme: "isin", value: "US4592001014" },
      expect: [
        {
          field: "securities",
          key: "ticker:XNYS:IBM",
          value: {
            isin: "US4592001014",
            figi: "BBG000BLNQ16",
            ticker: "IBM",
            mic: "XNYS",
            name: "INTL BUSINESS MACHINES CORP",
            type: "equity",
            status: "listed",
          },
        },
      ],
    },
  ],
});

export const openOpenFigi: OpenSource = ({ base_url, credentials: key }) => ({
  description: descriptionOf(key !== null),
  inactive_because: null,

  async lookup(identifier, _groups, http, _signal, company) {
    const job = jobOf(identifier);
    if (job === null) return { kind: "not_found", documents: [] };
    const mapped = await map({ base_url, key }, job, http);
    if (mapped.kind === "failed") return mapped;
    const own = mapped.listings.filter((each) => isOf(identifier, each, company));
    const [first] = own;
    if (first === undefined) return { kind: "not_found", documents: [mapped.document] };
    // The other markets of a share that is known by one of them.
    const all =
      identifier.scheme === "isin"
        ? mapped
        : await map(
            { base_url, key },
            { idType: "ID_BB_GLOBAL_SHARE_CLASS_LEVEL", idValue: first.share_class },
            http,
          );
    if (all.kind === "failed") return all;
    const { document, listings } = all.listings.length === 0 ? { ...mapped, listings: own } : all;
    // A company may have more listed than one ISIN or ticker.
    const answered = { kind: "claims", is_complete: false, documents: [document] } as const;
    return {
      kind: "found",
      native_id: first.share_class,
      groups: [
        { group: "identifiers", ...answered, claims: identifierClaims(document, listings) },
        { group: "securities", ...answered, claims: securityClaims(document, identifier, listings) },
      ],
    };
  },

  async nameOf(identifier, http) {
    const job = jobOf(identifier);
    if (job === null) return { kind: "not_found" };
    const mapped = await map({ base_url, key }, job, http);
    if (mapped.kind === "failed") return mapped;
    const [first] = mapped.listings;
    if (first === undefined) return { kind: "not_found" };
    return { kind: "named", name: first.name, country: countryOfMarket(first.mic) ?? null };
  },
});
