/** Reasons of attempts, of which there are dozens, as the few classes that a metric has. */
import { Type } from "typebox";
import { Words } from "./common.ts";
import { FETCH_ERRORS, HTTP_STATUS } from "./errors.ts";

/** The first pattern that fits gives the class. */
const CLASSES = [
  [/^ok$/, "ok"],
  [/^not_modified$/, "not_modified"],
  [/^thin_content$/, "thin_content"],
  [/^http_2\d\d$/, "http_2xx"],
  [/^http_3\d\d$/, "http_3xx"],
  [/^http_4\d\d$/, "http_4xx"],
  [/^http_5\d\d$/, "http_5xx"],
  [/^dns_/, "dns"],
  [/^network_/, "network"],
  [/^tls_/, "tls"],
  [/timeout$/, "timeout"],
  [/^not_configured$/, "not_configured"],
  [/^robots_/, "robots"],
  [/^domain_/, "domain"],
  [/_busy$/, "busy"],
  [/_unavailable$/, "unavailable"],
  [/_lost$/, "lost"],
  [/paywall/, "paywall"],
  [/^archive_not_found$/, "not_found"],
  [/^archive_/, "archive"],
  [/^proxy_/, "proxy"],
  [/^provider_/, "provider"],
  [/^browser_/, "browser"],
  [/^(?:budget_exhausted$|premium_)/, "premium"],
  [/^(?:too_large|pdf_not_accepted)$/, "limit"],
  [/^(?:selector_not_found|screenshot_failed|action_failed)$/, "incomplete"],
  [/^no_room$/, "no_room"],
  [/^(?:blocked_destination|invalid_url)$/, "destination"],
  [/challenge|captcha|^blocked/, "challenge"],
] as const satisfies readonly (readonly [RegExp, string])[];

export type AttemptReasonClass = (typeof CLASSES)[number][1] | "other";

export const ATTEMPT_REASON_CLASSES: readonly AttemptReasonClass[] = [
  ...CLASSES.map(([, name]) => name),
  "other",
];

export const attemptReasonClass = (reason: string): AttemptReasonClass =>
  CLASSES.find(([pattern]) => pattern.test(reason))?.[1] ?? "other";

/** `reason` of an attempt: those that have no number or name in them, a status, or a word with the class as its beginning or end. */
export const AttemptReason = Type.Unsafe<string>({
  anyOf: [
    Words("AttemptReasonName", [
      "ok",
      "not_modified",
      "thin_content",
      "not_configured",
      "no_room",
      ...Object.keys(FETCH_ERRORS),
    ]),
    { type: "string", pattern: HTTP_STATUS },
    { type: "string", pattern: "^[a-z][a-z0-9_]*$" },
  ],
});
