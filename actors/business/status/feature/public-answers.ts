/** How the status is answered to everyone: at most 120 requests in 60 s of an address, cached for 15 s, 304 while unchanged. */
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { matches } from "../../../../gateway/conditional.ts";
import { rateLimited } from "../../../../gateway/http-errors.ts";
import type { Head, Reply } from "../../../../gateway/http.ts";

const MAX_PER_MINUTE = 120;
const MINUTE_MS = 60_000;
/** Addresses that are counted; one that is dropped begins anew. */
const MAX_ADDRESSES = 20_000;
const CACHE_CONTROL = "public, max-age=15";
/** Without one an address counts as this: requests over a local socket. */
const NO_ADDRESS = "none";

export interface PublicAnswers {
  /** Null: the address may ask. */
  readonly limited: (head: Head) => Reply | null;
  /** The content under its entity tag. */
  readonly cacheable: (head: Head, headers: Readonly<Record<string, string>>, body: Buffer) => Reply;
}

export function publicAnswers(clock: Pick<Clock, "now">): PublicAnswers {
  /** When each address was answered within the last minute, the oldest first. */
  const answered = new LRUCache<string, number[]>({ max: MAX_ADDRESSES });
  return {
    limited(head) {
      const now_ms = clock.now();
      const address = head.address() || NO_ADDRESS;
      const times = answered.get(address) ?? [];
      while (times.length > 0 && now_ms - times[0]! >= MINUTE_MS) times.shift();
      if (times.length >= MAX_PER_MINUTE)
        return rateLimited(Math.ceil((times[0]! + MINUTE_MS - now_ms) / 1_000));
      times.push(now_ms);
      answered.set(address, times);
      return null;
    },
    cacheable(head, headers, body) {
      const tag = `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`;
      const cache = { ETag: tag, "Cache-Control": CACHE_CONTROL };
      if (matches(head.headers.get("if-none-match"), tag)) return { status: 304, headers: cache };
      return { status: 200, headers: { ...headers, ...cache }, body };
    },
  };
}
