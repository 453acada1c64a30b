/** Monitors and their changes as they are stored. A change is stored once, and holds how far its delivery is. */
import { collection } from "../../../cluster/collection.ts";
import type { SealedCollection, SecretPlace } from "../../../cluster/ports/secrets.ts";
import type {
  FirecrawlMonitorEvent,
  MonitoredState,
  VisitOutcome,
  Watch,
} from "../../../schemas/monitors.ts";
import type { ScheduledDelivery } from "../callbacks/delivery-schedule.ts";
import type { Schedule } from "./schedule.ts";

/** Findings of the last visit that did not fail, and the body with the text that the next diff is made of. */
export interface Baseline extends MonitoredState {
  readonly document_sha256: string;
}

export interface StoredMonitor {
  readonly id: string;
  readonly project: string;
  /** The prefix of the key that pays: of the last one that changed the monitor. */
  readonly key_prefix: string;
  /** As it is shown. */
  readonly url: string;
  /** The item of a fetch, sealed, because it may hold a login. */
  readonly input: string;
  readonly watch: Watch;
  readonly schedule: Schedule;
  readonly label: string | null;
  readonly webhook: {
    /** Sealed, like `secret`. */
    readonly url: string;
    readonly secret: string;
    readonly last_status: string | null;
    /** The receiver answered 410. */
    readonly is_off: boolean;
    /** Events are written as Firecrawl's API has them, these alone; undefined: as this one. */
    readonly firecrawl?: {
      readonly events: readonly FirecrawlMonitorEvent[];
      readonly metadata: Readonly<Record<string, string>>;
    };
  } | null;
  readonly paused: "client" | "key_revoked" | null;
  readonly created_ms: number;
  /** When the next visit is due. */
  readonly due_ms: number;
  /** Grows when another page, or something else of it, is watched: what an earlier visit finds then is not compared. */
  readonly generation: number;
  readonly last_visit: {
    readonly at_ms: number;
    readonly outcome: VisitOutcome;
    readonly error: string | null;
    /** Null: no job was begun. */
    readonly job_id: string | null;
  } | null;
  readonly failures: number;
  /** The visits that ended; the next one has the number that follows. */
  readonly checks: number;
  readonly changes: number;
  readonly baseline: Baseline | null;
}

/** By id, tagged with the project. */
export const MONITORS = collection<StoredMonitor>("monitors");

export interface StoredChange extends ScheduledDelivery {
  readonly monitor_id: string;
  /** The number of the visit. */
  readonly number: number;
  readonly url: string;
  readonly checked_ms: number;
  readonly previous: Baseline;
  readonly current: Baseline;
  readonly diff: string | null;
  readonly diff_truncated: boolean;
  /** `none`: the monitor had no webhook. */
  readonly delivery: "none" | "waiting" | "over";
  readonly delivery_status: string | null;
  /** Events of the form of Firecrawl's API that are delivered of it; undefined: none. */
  readonly events_delivered?: number;
}

/** By `changeKey`; those that wait for their delivery are tagged with the monitor. */
export const MONITOR_CHANGES = collection<StoredChange>("monitor_changes", { expires: true });

const CHANGE_TTL_MS = 30 * 86_400_000;
const NUMBER_DIGITS = 10;

export const changeKey = (monitor_id: string, number: number): string =>
  `${monitor_id} ${String(number).padStart(NUMBER_DIGITS, "0")}`;
/** All changes of a monitor, or those after a number. */
export const changesAfter = (monitor_id: string, number: number) => ({
  from: changeKey(monitor_id, number + 1),
  to: `${monitor_id}!`,
});

export const changeOptions = ({ monitor_id, created_ms, delivery }: StoredChange) => ({
  expires_at_ms: created_ms + CHANGE_TTL_MS,
  ...(delivery === "waiting" && { tag: monitor_id }),
});

/** Where a text of a monitor is sealed for. */
export const monitorPlace = (id: string, field: "input" | "webhook_url" | "secret"): SecretPlace => ({
  collection: MONITORS.name,
  key: id,
  field,
});

export const sealedMonitors: SealedCollection = {
  rewrite({ value }, reseal) {
    const monitor = value as StoredMonitor;
    const { id, project, webhook } = monitor;
    const input = reseal(monitor.input, monitorPlace(id, "input"));
    if (input === null) return null;
    const url = webhook && reseal(webhook.url, monitorPlace(id, "webhook_url"));
    const secret = webhook && reseal(webhook.secret, monitorPlace(id, "secret"));
    // Without its webhook a monitor still lists its changes.
    const kept = webhook && url !== null && secret !== null ? { ...webhook, url, secret } : null;
    return { value: { ...monitor, input, webhook: kept }, options: { tag: project } };
  },
};
