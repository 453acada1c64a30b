/** The settings of the filing system. */
import { type Static, Type } from "typebox";
import { closed, optionalSetting, type Rule, textSetting, WEB } from "../../../../node/settings.ts";

/** The filing system rejects identities without an address, with several, with a URL or with characters beyond ASCII. */
const CONTACT: Rule = {
  fits: (text) =>
    /^[\u0020-\u007e]+$/.test(text) &&
    /^[^\s@][^@]* [^\s@<>()]+@[^\s@]+\.[a-z0-9-]{2,}$/i.test(text) &&
    !/http/i.test(text),
  expected:
    'a company name and an e-mail address, as "Company name contact@company.com": plain letters, one address, no URL',
};
const EGRESS_NAME: Rule = {
  fits: (text) => /^[a-z0-9][a-z0-9._-]{0,62}$/i.test(text),
  expected: 'a name of letters, digits, ".", "_" and "-"',
};

export const SETTINGS = {
  filings: Type.Object(
    {
      identity: optionalSetting({
        env: "TRAWL_FILINGS_IDENTITY",
        shared: true,
        rule: CONTACT,
        description: "Company name contact@example.com: the identity sent to the filing system; turns it on.",
      }),
      data_url: textSetting({
        env: "TRAWL_FILINGS_DATA_URL",
        default: "https://data.sec.gov",
        shared: true,
        rule: WEB,
        description: "The filing system's structured data.",
      }),
      www_url: textSetting({
        env: "TRAWL_FILINGS_WWW_URL",
        default: "https://www.sec.gov",
        shared: true,
        rule: WEB,
        description: "The filing system's documents.",
      }),
      search_url: textSetting({
        env: "TRAWL_FILINGS_SEARCH_URL",
        default: "https://efts.sec.gov",
        shared: true,
        rule: WEB,
        description: "The filing system's full-text search.",
      }),
      requests_per_second: Type.Integer({
        env: "TRAWL_FILINGS_RPS",
        default: 8,
        minimum: 1,
        maximum: 10,
        shared: true,
        agreed: true,
        description:
          "Requests to the filing system per second and egress, 1 to 10; clusters behind one address must divide it.",
      }),
      egress: textSetting({
        env: "TRAWL_FILINGS_EGRESS",
        default: "default",
        rule: EGRESS_NAME,
        description:
          "A name for the public address of this node's requests to the filing system; each name has one limiter.",
      }),
    },
    closed,
  ),
};

export type FilingsSettings = Static<typeof SETTINGS.filings>;
