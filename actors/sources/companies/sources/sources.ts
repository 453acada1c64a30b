/**
 * All sources, in the order in which they are listed. A new source is one file here and one entry: its settings, its limiter
 * and its place in the API follow from the entry. Nothing of a source is loaded before the register is opened.
 */
import type { OpenSource } from "../source.ts";

/** A source that is asked at an address of its own. The settings are in the section `companies`. */
interface AddressedSource {
  readonly address: { readonly env: string; readonly default: string; readonly description: string };
  /** Default: it needs no key. */
  readonly key?: { readonly env: string; readonly description: string };
  readonly load: () => Promise<OpenSource>;
}

/** A source whose requests go through another slice, with its limits. */
interface BridgedSource {
  readonly through: "filings" | "profiles";
  readonly load: () => Promise<OpenSource>;
}

export type SourceEntry = AddressedSource | BridgedSource;

/** By the name of the source. */
export const SOURCES = {
  gleif: {
    address: {
      env: "TRAWL_GLEIF_URL",
      default: "https://api.gleif.org/api/v1",
      description: "GLEIF, the register of LEIs.",
    },
    load: async () => (await import("./gleif.ts")).openGleif,
  },
  sec_edgar: {
    through: "filings",
    load: async () => (await import("./sec-edgar.ts")).openSecEdgar,
  },
  zefix: {
    address: {
      env: "TRAWL_ZEFIX_URL",
      default: "https://www.zefix.admin.ch/ZefixPublicREST",
      description: "Zefix, the companies of Switzerland.",
    },
    key: {
      env: "TRAWL_ZEFIX_KEY",
      description: "Zefix account as user:password; without it Zefix is not asked.",
    },
    load: async () => (await import("./zefix.ts")).openZefix,
  },
  companies_house: {
    address: {
      env: "TRAWL_COMPANIES_HOUSE_URL",
      default: "https://api.company-information.service.gov.uk",
      description: "Companies House, the companies of the United Kingdom.",
    },
    key: {
      env: "TRAWL_COMPANIES_HOUSE_KEY",
      description: "Companies House API key; without it Companies House is not asked.",
    },
    load: async () => (await import("./companies-house.ts")).openCompaniesHouse,
  },
  brreg: {
    address: {
      env: "TRAWL_BRREG_URL",
      default: "https://data.brreg.no/enhetsregisteret/api",
      description: "Brønnøysundregistrene, the companies of Norway.",
    },
    load: async () => (await import("./brreg.ts")).openBrreg,
  },
  prh: {
    address: {
      env: "TRAWL_PRH_URL",
      default: "https://avoindata.prh.fi/opendata-ytj-api/v3",
      description: "PRH, the companies of Finland.",
    },
    load: async () => (await import("./prh.ts")).openPrh,
  },
  recherche_entreprises: {
    address: {
      env: "TRAWL_RECHERCHE_ENTREPRISES_URL",
      default: "https://recherche-entreprises.api.gouv.fr",
      description: "Recherche d'entreprises, the companies of France.",
    },
    load: async () => (await import("./recherche-entreprises.ts")).openRechercheEntreprises,
  },
  krs: {
    address: {
      env: "TRAWL_KRS_URL",
      default: "https://api-krs.ms.gov.pl/api/krs",
      description: "KRS, the companies of Poland.",
    },
    load: async () => (await import("./krs.ts")).openKrs,
  },
  openfigi: {
    address: {
      env: "TRAWL_OPENFIGI_URL",
      default: "https://api.openfigi.com/v3",
      description: "OpenFIGI, the listings of securities.",
    },
    key: {
      env: "TRAWL_OPENFIGI_KEY",
      description: "OpenFIGI API key: 25 requests in 6 s instead of 25 a minute.",
    },
    load: async () => (await import("./openfigi.ts")).openOpenFigi,
  },
  northdata: {
    through: "profiles",
    load: async () => (await import("./profile-site.ts")).openProfileSite,
  },
} as const satisfies Readonly<Record<string, SourceEntry>>;

export type SourceName = keyof typeof SOURCES;
export const SOURCE_NAMES = Object.keys(SOURCES) as readonly SourceName[];
