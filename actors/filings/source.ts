/**
 * The joint between the rules of the filing system (what to ask for, what it says) and its upstream (limiter, cache,
 * wire). Everything that is read from the filing system is read through `FilingSource`; bytes are then taken from
 * Bodies by their digest. Shapes of ask and answer: schemas/filing-source.ts.
 *
 * For whoever builds on it:
 * - `get` answers within the deadline and does not throw but for Fault (our own engines).
 * - What is JSON by its kind was looked through: it is whole, and below 256 KiB it parses. Whoever finds more wrong with
 *   it (parallel arrays of different length) says so with `discard` and answers filings_unavailable, retry_after_s 60.
 * - `document` and `index` never carry a throttle page, whatever status it had; a `document` may cost one more request
 *   a day and host, for robots.txt.
 * - A partial search answer (timed out, failed shards) is answered and not kept.
 */
import type { SourceAnswer, SourceAsk } from "../../schemas/filing-source.ts";

export interface FilingSource {
  readonly get: (ask: SourceAsk) => Promise<SourceAnswer>;
  /** Forgets what is stored for this address when it is still these bytes: they turned out to be wrong. */
  readonly discard: (ask: Pick<SourceAsk, "host" | "path">, sha256: string) => Promise<void>;
}
