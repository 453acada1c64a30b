/** A page for each error code: where it stands, what it means, whether another try helps, what it costs, and how to see it. */
import {
  FETCH_ERRORS,
  FILINGS_ERRORS,
  ITEM_ERRORS,
  PROFILE_ERRORS,
  SEARCH_ERRORS,
} from "../../schemas/errors.ts";
import { joined, type SourcePage, table } from "./source-page.ts";

interface Meaning {
  readonly retry: "no" | "later" | "changed";
  readonly means: string;
}

const AREAS: readonly (readonly [area: string, errors: Readonly<Record<string, Meaning>>])[] = [
  ["a fetch", FETCH_ERRORS],
  ["a search", SEARCH_ERRORS],
  ["a filing", FILINGS_ERRORS],
  ["a profile", PROFILE_ERRORS],
  ["an item of a job", ITEM_ERRORS],
];

const RETRIES: Readonly<Record<Meaning["retry"], string>> = {
  no: "No. The same request ends the same way.",
  later:
    "Yes, later: after `retry_after_s` or `Retry-After` where the answer has one. The clients do it by themselves within their time.",
  changed: "Not as it is. A changed request may succeed.",
};

const COST =
  "The request counts in the quota of its category. Money is spent only where a premium route or a paid API was asked before it ended: the ledger's row of the request " +
  "says so (`GET /v1/requests/{request_id}`). What was refused before anything was asked costs nothing.";

/** Commands that end with the error on any service, without a network. */
export const PROVOKED: Readonly<Record<string, readonly [path: string, body: object]>> = {
  invalid_url: ["/v1/fetch", { url: "ftp://example.org/" }],
  blocked_destination: ["/v1/fetch", { url: "http://10.0.0.1/" }],
  no_tier_allowed: ["/v1/fetch", { url: "https://example.org/", tiers: ["proxy"], allow_premium: false }],
  session_not_found: ["/v1/fetch", { url: "https://example.org/", session_id: "ses_wyvsfbx2x89mpyyv" }],
};

const commandOf = (path: string, body: object, url: string): string =>
  `\`\`\`sh\ncurl ${url}${path} -H "Authorization: Bearer $TRAWL_KEY" -d '${JSON.stringify(body)}'\n\`\`\``;

export const errorPath = (code: string): string => `errors/${code}`;
const upper = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`;

function errorPage(code: string, url: string): SourcePage {
  const uses = AREAS.flatMap(([area, errors]) => (errors[code] ? [{ area, ...errors[code] }] : []));
  const provoked = PROVOKED[code];
  const parts = [
    `# ${code}`,
    `\`error\` of ${uses.map(({ area }) => area).join(", ")}.`,
    ...uses.map(({ area, means }) => (uses.length === 1 ? `${upper(means)}.` : `**Of ${area}**: ${means}.`)),
    "## Whether to try again",
    ...new Set(uses.map(({ retry }) => RETRIES[retry])),
    "## What it costs",
    COST,
    ...(provoked ? ["## How to see it", commandOf(...provoked, url)] : []),
  ];
  return { path: errorPath(code), title: code, markdown: joined(parts), isSearched: true };
}

/** `url`: of this service. */
export function errorPages(url: string): readonly SourcePage[] {
  const lists = AREAS.map(([area, errors]) => {
    const rows = Object.entries(errors).map(([code, { retry, means }]) => [
      `[\`${code}\`](/docs/${errorPath(code)})`,
      retry,
      means,
    ]);
    return [`## Errors of ${area}`, table(["error", "another try", "meaning"], rows)];
  });
  const codes = new Set(AREAS.flatMap(([, errors]) => Object.keys(errors)));
  const markdown = joined([
    "# Errors",
    "A fetch, a search, a filing, a profile or an item that failed on its way is an answer with HTTP 200, and `error` has one of these codes. " +
      "`http_<status>` is the status with which the origin answered. HTTP errors are refusals of the request itself: their codes stand with each operation of the [reference](/docs/reference).",
    ...lists.flat(),
  ]);
  return [
    { path: "errors", title: "Errors", markdown, isSearched: true },
    ...[...codes].map((code) => errorPage(code, url)),
  ];
}
