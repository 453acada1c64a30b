/** When a page is visited. Pure. Cron patterns are croner's (decision 0176 says what it does when clocks change). */
import { Cron } from "croner";
import { MIN_EVERY_S } from "../../../schemas/monitors.ts";

export type Schedule =
  | { readonly kind: "interval"; readonly every_s: number }
  | { readonly kind: "cron"; readonly cron: string; readonly timezone: string };

export interface GivenSchedule {
  readonly every_s?: number | null | undefined;
  readonly cron?: string | null | undefined;
  readonly timezone?: string | null | undefined;
}

export type ReadSchedule =
  | { readonly kind: "right"; readonly schedule: Schedule }
  | { readonly kind: "wrong"; readonly field: keyof GivenSchedule; readonly message: string };

const MIN_GAP_MS = MIN_EVERY_S * 1_000;
const DAY_MS = 86_400_000;
/** Visits that are compared for their distance: more than a pattern has within two of its days. */
const COMPARED = 300;

const wrong = (field: keyof GivenSchedule, message: string): ReadSchedule => ({
  kind: "wrong",
  field,
  message,
});

export function readSchedule({ every_s, cron, timezone }: GivenSchedule, now_ms: number): ReadSchedule {
  if (every_s != null && cron != null) return wrong("cron", "Only one of every_s and cron may be given");
  if (every_s != null)
    return timezone == null
      ? { kind: "right", schedule: { kind: "interval", every_s } }
      : wrong("timezone", "A time zone belongs to cron");
  if (cron == null) return wrong("every_s", "One of every_s and cron is required");
  const zone = timezone ?? "UTC";
  if (!isZone(zone))
    return wrong("timezone", "Input should be the IANA name of a time zone, such as Europe/Zurich");
  const pattern = patternOf(cron, zone);
  if (pattern === null)
    return wrong(
      "cron",
      "Input should be a cron pattern of five fields: minute, hour, day, month, day of the week",
    );
  const problem = problemOf(pattern, now_ms);
  return problem === null
    ? { kind: "right", schedule: { kind: "cron", cron, timezone: zone } }
    : wrong("cron", problem);
}

/** The first visit after this moment. */
export function nextVisit(schedule: Schedule, after_ms: number): number {
  if (schedule.kind === "interval") return after_ms + schedule.every_s * 1_000;
  const next = patternOf(schedule.cron, schedule.timezone)?.nextRun(new Date(after_ms));
  // A pattern that was accepted has a next visit; a later version of croner may think otherwise.
  return next?.getTime() ?? after_ms + DAY_MS;
}

/** The visit after the one that was due then. Those that were missed meanwhile are not made up for. */
export function visitAfter(schedule: Schedule, due_ms: number, now_ms: number): number {
  const next_ms = nextVisit(schedule, due_ms);
  return next_ms > now_ms ? next_ms : nextVisit(schedule, now_ms);
}

function isZone(timezone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

function patternOf(cron: string, timezone: string): Cron | null {
  try {
    return new Cron(cron, { timezone, paused: true, mode: "5-part" });
  } catch {
    return null;
  }
}

function problemOf(pattern: Cron, now_ms: number): string | null {
  let before = pattern.nextRun(new Date(now_ms));
  if (before === null) return "There is no such day";
  for (let n = 1; n < COMPARED; n++) {
    const next = pattern.nextRun(before);
    if (next === null) break;
    if (next.getTime() - before.getTime() < MIN_GAP_MS) return "Visits should be at least 5 minutes apart";
    before = next;
  }
  return null;
}
