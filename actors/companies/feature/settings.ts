/** The settings of the company register and its sources. */
import { type Static, Type } from "typebox";
import { closed, optionalSetting, textSetting, WEB } from "../../../node/settings.ts";

const baseUrl = (env: string, url: string, description: string) =>
  textSetting({ env, default: url, shared: true, rule: WEB, description });
const credentials = (env: string, description: string) =>
  optionalSetting({ env, secret: true, shared: true, description });

export const SETTINGS = {
  companies: Type.Object(
    {
      gleif_url: baseUrl("TRAWL_GLEIF_URL", "https://api.gleif.org/api/v1", "GLEIF, the register of LEIs."),
      zefix_url: baseUrl(
        "TRAWL_ZEFIX_URL",
        "https://www.zefix.admin.ch/ZefixPublicREST",
        "Zefix, the companies of Switzerland.",
      ),
      zefix_key: credentials(
        "TRAWL_ZEFIX_KEY",
        "Zefix account as user:password; without it Zefix is not asked.",
      ),
      companies_house_url: baseUrl(
        "TRAWL_COMPANIES_HOUSE_URL",
        "https://api.company-information.service.gov.uk",
        "Companies House, the companies of the United Kingdom.",
      ),
      companies_house_key: credentials(
        "TRAWL_COMPANIES_HOUSE_KEY",
        "Companies House API key; without it Companies House is not asked.",
      ),
      brreg_url: baseUrl(
        "TRAWL_BRREG_URL",
        "https://data.brreg.no/enhetsregisteret/api",
        "Brønnøysundregistrene, the companies of Norway.",
      ),
      prh_url: baseUrl(
        "TRAWL_PRH_URL",
        "https://avoindata.prh.fi/opendata-ytj-api/v3",
        "PRH, the companies of Finland.",
      ),
      recherche_entreprises_url: baseUrl(
        "TRAWL_RECHERCHE_ENTREPRISES_URL",
        "https://recherche-entreprises.api.gouv.fr",
        "Recherche d'entreprises, the companies of France.",
      ),
      krs_url: baseUrl("TRAWL_KRS_URL", "https://api-krs.ms.gov.pl/api/krs", "KRS, the companies of Poland."),
      profiles: Type.Enum(["off", "named", "on"], {
        env: "TRAWL_COMPANY_PROFILES",
        default: "off",
        shared: true,
        agreed: true,
        description:
          "Whether the profile site is a source of companies: on: of every refresh; named: only where a request names it in " +
          "`sources`. The request's key pays. It needs TRAWL_PROFILES=on.",
      }),
      people_retention_days: Type.Integer({
        env: "TRAWL_PEOPLE_RETENTION_DAYS",
        default: 30,
        minimum: 1,
        maximum: 3_650,
        shared: true,
        description:
          "How long data about persons of companies is stored after a source last confirmed it, in days.",
      }),
    },
    closed,
  ),
};

export type CompaniesSettings = Static<typeof SETTINGS.companies>;
