/**
 * A request to the profile site as it goes on: what it was started with and what has come of it. The record lives in
 * the process that runs it and is never stored or sent.
 */
import type { ActorClient, WorkContext } from "../../../cluster/actor.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import type { Log } from "../../../cluster/ports/log.ts";
import type { Metrics } from "../../../cluster/ports/metrics.ts";
import type { TaskResult } from "../../../cluster/ports/workers.ts";
import type { SlotCaller } from "../../../schemas/domain.ts";
import type { Attempt } from "../../../schemas/fetch.ts";
import type { ProfilePageKind } from "../../../schemas/profiles.ts";
import type { Admission, Transport, TransportResult } from "../../lib/web/transport.ts";
import type { PageReading } from "./read-page.ts";
import { type PremiumTier } from "../../../schemas/tier-table.ts";

export interface SiteRun {
  readonly ask: ActorClient;
  readonly work: WorkContext;
  /** Aborts at the deadline, or when this node loses the key. */
  readonly signal: AbortSignal;
  /** The site whose Domain actor grants the slots. */
  readonly site: string;
  readonly caller: SlotCaller;
  readonly began_ms: number;
  readonly endsAt: () => number;
  readonly request: {
    readonly fetch_id: string;
    readonly lane: "sync" | "batch";
    readonly project: string;
    readonly key?: string;
  };
  readonly slot_wait_ms: number;
  readonly attempts: Attempt[];
  /** Requests admitted so far. */
  hops: number;
  isLost: boolean;
  delegated_url: string;
  spent_micros: number;
}

/** Permits and budget that the request needs of other slices. */
export interface SiteAccess {
  /** robots.txt and a slot for one request. Throws Fault lease_lost. */
  readonly admit: (run: SiteRun, url: string) => Promise<Admission>;
  /** False: the payer has no room for one attempt. */
  readonly reserveBudget: (run: SiteRun, tier: PremiumTier) => Promise<boolean>;
  /** Adds what the attempt cost to the run. */
  readonly settleBudget: (run: SiteRun, tier: PremiumTier, result: TransportResult) => Promise<void>;
}

/** A document for a reader process. */
export interface ReadOrder {
  readonly provider: string;
  readonly kind: ProfilePageKind;
  readonly bytes: Uint8Array;
  readonly content_type: string | null;
  readonly url: string;
}

export interface SiteRequestDeps {
  readonly clock: Clock;
  readonly documents: Documents;
  readonly blobs: Blobs;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly access: SiteAccess;
  /** Routes that some node has at the moment. */
  readonly routes: Readonly<Partial<Record<PremiumTier, Transport>>>;
  readonly read: (order: ReadOrder, signal: AbortSignal) => Promise<TaskResult<PageReading>>;
  readonly provider: { readonly name: string; readonly parser_version: string };
  /** The site of an address. */
  readonly siteOf: (url: string) => string;
}

export function recordAttempt(
  { attempts }: Pick<SiteRun, "attempts">,
  tier: string,
  reason: string,
  { status = null, ms = 0, detail = null }: Partial<Pick<Attempt, "status" | "ms" | "detail">> = {},
): void {
  attempts.push({ tier, status, reason, ms: Math.round(ms), detail });
}
