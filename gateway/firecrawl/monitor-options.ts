/** Their options of a monitor, and what they are here: a monitor watches one page. */
import { Type } from "typebox";
import { FIRECRAWL_MONITOR_EVENTS } from "../../schemas/monitors.ts";
import { badRequest, notServed } from "./errors.ts";
import { type Given, option, type Options, type Ours, refused, taken } from "./option.ts";
import { fetchOptionsOf, SCRAPE_OPTIONS } from "./scrape-options.ts";
import { webhookOf } from "./webhook-option.ts";

/** Changes are stored so long. */
export const RETENTION_DAYS = 30;
const MINUTES_AN_HOUR = 60;
const HOURS_A_DAY = 24;
const { origin, integration } = SCRAPE_OPTIONS;
const Text = Type.String({ minLength: 1 });

interface Target {
  readonly type?: unknown;
  readonly urls?: unknown;
  readonly scrapeOptions?: Given | null;
}

/** Schedules in words, as cron patterns. The first that fits a text is taken. */
const IN_WORDS: readonly (readonly [
  words: RegExp,
  cron: (first: number, minute: number, half: string | undefined) => string | null,
])[] = [
  [/^every (\d{1,4}) minutes?$/, (n) => (MINUTES_AN_HOUR % n === 0 ? `*/${n} * * * *` : null)],
  [/^every (\d{1,4}) hours?$/, (n) => (HOURS_A_DAY % n === 0 ? `0 */${n} * * *` : null)],
  [/^(?:hourly|every hour)$/, () => "0 * * * *"],
  [/^(?:daily|every day)$/, () => "0 0 * * *"],
  [
    /^(?:daily|every day) at (\d{1,2})(?::(\d{2}))? ?(am|pm)?$/,
    (given, minute, half) => {
      const hour = half === undefined ? given : (given % 12) + (half === "pm" ? 12 : 0);
      const isTime = hour < HOURS_A_DAY && minute < MINUTES_AN_HOUR && (half === undefined || given <= 12);
      return isTime ? `${minute} ${hour} * * *` : null;
    },
  ],
  [/^(?:weekly|every week)$/, () => "0 0 * * MON"],
  [/^(?:monthly|every month)$/, () => "0 0 1 * *"],
];

/** Throws Refused. */
export function cronOf(text: string): string {
  const words = text.trim().toLowerCase();
  for (const [form, cron] of IN_WORDS) {
    const found = form.exec(words);
    if (found === null) continue;
    const [, first, minute = "0", half] = found;
    const pattern = cron(Number(first), Number(minute), half);
    if (pattern !== null) return pattern;
  }
  throw badRequest(
    `Bad Request: schedule: ${JSON.stringify(text.slice(0, 60))} is none of: every 30 minutes, every 6 hours, hourly, daily, daily at 9:00, weekly, monthly; give cron`,
  );
}

const SHARED: Options = {
  origin: origin!,
  integration: integration!,
  name: option(Type.String({ minLength: 1, maxLength: 200 }), "`label`", (label) => ({ label })),
  schedule: option(
    Type.Object(
      { cron: Type.Optional(Text), text: Type.Optional(Text), timezone: Type.Optional(Text) },
      { additionalProperties: false },
    ),
    "`cron` and `timezone`; of `text` is taken: every 30 minutes, every 6 hours, hourly, daily, daily at 9:00, weekly, monthly",
    ({ cron, text, timezone }) => {
      if ((cron === undefined) === (text === undefined))
        throw badRequest("Bad Request: schedule: give cron or text");
      return { cron: cron ?? cronOf(text!), ...(timezone !== undefined && { timezone }) };
    },
  ),
  targets: option(
    Type.Array(Type.Object({ type: Text })),
    "one, of `type` `scrape` with one address in `urls`: `url`, and its `scrapeOptions` are `fetch`; its `formats` are `markdown` and `changeTracking`. Others are refused",
    (targets) => targetOf(targets as readonly Target[]),
  ),
  retentionDays: option(
    Type.Integer({ minimum: 1 }),
    `without effect up to ${RETENTION_DAYS}: changes are stored for ${RETENTION_DAYS} days. More is refused`,
    (days) => {
      if (days > RETENTION_DAYS) throw notServed(`Changes are stored for ${RETENTION_DAYS} days`);
      return {};
    },
  ),
  webhook: option(
    Type.Object(
      {
        url: Text,
        events: Type.Optional(Type.Array(Type.Enum([...FIRECRAWL_MONITOR_EVENTS]), { minItems: 1 })),
        metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
        headers: Type.Optional(Type.Record(Type.String(), Type.String())),
      },
      { additionalProperties: false },
    ),
    "`webhook` with the form `firecrawl`: events are sent of checks that found a change; `headers` is refused",
    webhookOf,
  ),
  notification: refused(
    "No mail is sent",
    (value) => (value as { email?: { enabled?: unknown } } | null)?.email?.enabled !== true,
  ),
  goal: refused("Every change of the page is one: no language model judges it"),
  judgeEnabled: refused("Every change of the page is one: no language model judges it"),
};

export const MONITOR_OPTIONS: Options = SHARED;

/** Options of a change of a monitor. */
export const MONITOR_UPDATE: Options = {
  ...SHARED,
  status: option(Type.Enum(["active", "paused"]), "`paused`", (status) => ({ paused: status === "paused" })),
};

/** Throws Refused. */
export function monitorBodyOf(given: Given): Ours {
  for (const name of ["name", "schedule", "targets"])
    if (given[name] === undefined) throw badRequest(`Bad Request: ${name}: Field required`);
  return { watch: "markdown", ...taken(MONITOR_OPTIONS, given) };
}

/** Throws Refused. */
function targetOf(targets: readonly Target[]): Ours {
  const [target, ...others] = targets;
  if (target === undefined) throw badRequest("Bad Request: targets: one is needed");
  const { type, urls, scrapeOptions } = target;
  if (type !== "scrape") throw notServed("A monitor watches a page: only targets of type scrape are served");
  if (!Array.isArray(urls) || typeof urls[0] !== "string")
    throw badRequest("Bad Request: targets.0.urls: Field required");
  if (others.length > 0 || urls.length > 1)
    throw notServed("A monitor watches one page: create one for each address");
  const { formats = [], maxAge: _, ...options } = scrapeOptions ?? {};
  for (const format of formats as readonly unknown[]) checkFormat(format);
  const { formats: __, include_html: ___, ...fetch } = fetchOptionsOf({ ...options, formats: [] });
  return { url: urls[0], fetch };
}

/** Throws Refused. */
function checkFormat(format: unknown): void {
  const { type, modes = [] } = (typeof format === "string" ? { type: format } : (format ?? {})) as {
    type?: unknown;
    modes?: readonly unknown[];
  };
  const isText =
    type === "markdown" || (type === "changeTracking" && modes.every((mode) => mode === "git-diff"));
  if (!isText) throw notServed("A monitor compares the Markdown of its page, and no other format");
}
