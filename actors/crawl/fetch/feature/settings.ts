/** The settings of fetches: politeness, open copies and the language model. */
import { type Static, Type } from "typebox";
import {
  closed,
  optionalSetting,
  type Rule,
  textSetting,
  WEB,
  WEB_OR_NONE,
} from "../../../../node/settings.ts";
import { toMicros } from "../../../../schemas/accounts.ts";

const AMOUNT: Rule = {
  fits: (raw) => toMicros(raw) !== null,
  expected: "an amount as 0.40, with at most six decimal places",
};

const EMAIL: Rule = {
  fits: (text) => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text),
  expected: "an e-mail address",
};

export const SETTINGS = {
  politeness: Type.Object(
    {
      min_delay_ms: Type.Integer({
        env: "TRAWL_POLITE_DELAY_MS",
        default: 500,
        minimum: 0,
        maximum: 3_600_000,
        shared: true,
        agreed: true,
        description: "The least time between two requests to one domain.",
      }),
      max_concurrency: Type.Integer({
        env: "TRAWL_POLITE_CONCURRENCY",
        default: 2,
        minimum: 1,
        maximum: 1_000,
        shared: true,
        agreed: true,
        description: "The most concurrent requests to one domain.",
      }),
    },
    closed,
  ),
  alternates: Type.Object(
    {
      guardian_url: textSetting({
        env: "TRAWL_GUARDIAN_URL",
        default: "https://content.guardianapis.com",
        shared: true,
        rule: WEB,
        description: "The Guardian's content API, used for its own articles that cannot be fetched.",
      }),
      guardian_key: optionalSetting({
        env: "TRAWL_GUARDIAN_KEY",
        secret: true,
        description: "The key of the Guardian's content API; without it the API is not used.",
      }),
      unpaywall_url: textSetting({
        env: "TRAWL_UNPAYWALL_URL",
        default: "https://api.unpaywall.org/v2",
        shared: true,
        rule: WEB,
        description: "Register of open-access copies by DOI (Unpaywall format).",
      }),
      unpaywall_email: optionalSetting({
        env: "TRAWL_UNPAYWALL_EMAIL",
        shared: true,
        rule: EMAIL,
        description: "The e-mail address that the register requires; without it the register is not used.",
      }),
      common_crawl_url: textSetting({
        env: "TRAWL_COMMON_CRAWL_URL",
        default: "none",
        shared: true,
        rule: WEB_OR_NONE,
        description: "Common Crawl's index (https://index.commoncrawl.org), for batch items; none: not used.",
      }),
      common_crawl_data_url: textSetting({
        env: "TRAWL_COMMON_CRAWL_DATA_URL",
        default: "https://data.commoncrawl.org",
        shared: true,
        rule: WEB,
        description: "The address of Common Crawl's captures.",
      }),
    },
    closed,
  ),
  model: Type.Object(
    {
      url: optionalSetting({
        env: "TRAWL_LLM_URL",
        shared: true,
        rule: WEB,
        description:
          "An OpenAI-compatible API (https://api.openai.com/v1) for `extract` with a schema, which gets the text of pages; its host may be private. Without it such requests are refused.",
      }),
      key: optionalSetting({
        env: "TRAWL_LLM_KEY",
        secret: true,
        description: "The key of the language model's API.",
      }),
      name: optionalSetting({
        env: "TRAWL_LLM_MODEL",
        shared: true,
        description: "The model to ask, by its name in that API; needed with TRAWL_LLM_URL.",
      }),
      price_in: optionalSetting({
        env: "TRAWL_LLM_PRICE_IN",
        shared: true,
        rule: AMOUNT,
        description:
          "The price of a million tokens that the model reads, in US dollars; needed with TRAWL_LLM_URL, 0 for a server of your own.",
      }),
      concurrency: Type.Integer({
        env: "TRAWL_LLM_CONCURRENCY",
        default: 4,
        minimum: 1,
        maximum: 1_000,
        description:
          "How many pages a node gives to the language model at once; others wait. More than its server takes at once end as model_timeout.",
      }),
      price_out: optionalSetting({
        env: "TRAWL_LLM_PRICE_OUT",
        shared: true,
        rule: AMOUNT,
        description:
          "The price of a million tokens that the model writes, in US dollars; needed with TRAWL_LLM_URL, 0 for a server of your own.",
      }),
    },
    closed,
  ),
};

export type FetchSettings = { readonly [S in keyof typeof SETTINGS]: Static<(typeof SETTINGS)[S]> };

const NEEDED_WITH_A_MODEL = {
  name: "TRAWL_LLM_MODEL",
  price_in: "TRAWL_LLM_PRICE_IN",
  price_out: "TRAWL_LLM_PRICE_OUT",
} as const;

/** A model without a price would spend past every limit and stand in no account: its operator says 0 where it costs nothing. */
export function modelProblem({
  model,
}: Pick<FetchSettings, "model">): { env: string; message: string } | null {
  const names = Object.keys(NEEDED_WITH_A_MODEL) as (keyof typeof NEEDED_WITH_A_MODEL)[];
  const lacking = model.url === undefined ? undefined : names.find((name) => model[name] === undefined);
  if (lacking === undefined) return null;
  const hint = lacking === "name" ? "the model's name" : "US dollars for a million tokens, or 0";
  return { env: NEEDED_WITH_A_MODEL[lacking], message: `is needed with TRAWL_LLM_URL: ${hint}` };
}
