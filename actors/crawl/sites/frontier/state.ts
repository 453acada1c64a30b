/** The memory of a frontier that is awake: what its record says, in a form that is quick to ask. */
import type { ReplyTo, Turn } from "../../../../cluster/actor.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { FoundLink, Frontier, SeenPage } from "../../../../schemas/crawl.ts";
import type { SitemapError } from "../../../../schemas/sites.ts";
import type { JoinedSites } from "../../../lib/web/url.ts";
import type { TrapBook } from "../address/traps.ts";
import type { Addresses } from "./addresses.ts";
import type { Originals } from "./originals.ts";
import type { FrontierRecord } from "./record.ts";
import type { CrawlRules } from "./rules.ts";
import type { SitemapCount } from "./sitemap-count.ts";
import type { Waiting } from "./waiting.ts";

export interface FrontierServices {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly log: Log;
  readonly joined?: JoinedSites;
}

/** A crawl as it was read. */
export interface Loaded {
  readonly rules: CrawlRules;
  readonly seeds: readonly string[];
  readonly addresses: Addresses;
  readonly waiting: Waiting;
  readonly traps: TrapBook;
  readonly originals: Originals;
  readonly sitemaps: SitemapCount;
  excluded: number;
  /** The largest depth of an address that the job was given. */
  deepest: number;
}

type Queued = { readonly to: ReplyTo<unknown> } & Asked;
export type Asked =
  | {
      readonly operation: "discover";
      readonly message: {
        readonly found_on: string;
        readonly depth: number;
        readonly redirected_to?: string;
        readonly listed?: boolean;
        readonly sitemap_error?: SitemapError;
        readonly seen?: SeenPage;
        readonly links: readonly FoundLink[];
      };
    }
  | {
      readonly operation: "next";
      readonly message: { readonly have: number; readonly want: number; readonly ended: number };
    };

export interface FrontierState {
  /** Stored by every turn that changes it. Null: nothing was asked of it yet, or the crawl was purged. */
  record: FrontierRecord | null;
  /** Null: not read yet. */
  loaded: Loaded | null;
  /** Where the load in progress leaves what it read. */
  slot: { loaded: Loaded | null };
  isLoading: boolean;
  /** The turn that carries out what waits in the queue is on its way. */
  isDraining: boolean;
  /** The record whose chunks are being written; null: none are. */
  flushing: FrontierRecord | null;
  /** Asked, and not carried out: several of them share a turn, and so a write of the record. */
  readonly queue: Queued[];
  /** Addresses that the job is known to have stored. */
  acknowledged: number;
}

export type FrontierTurn = Turn<FrontierState, typeof Frontier.own>;
