/** Permits of one page's documents, and the distance between the requests of pages of one site. */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Admission, OriginAnswer } from "../../../lib/web/transport.ts";
import { siteOf } from "../../../lib/web/url.ts";
import { pause } from "./in-time.ts";

/** The permit for one document, released once. */
export interface Hop {
  readonly url: string;
  readonly admitted_ms: number;
  answer: OriginAnswer;
  readonly beforeSend: () => boolean | Promise<boolean>;
  readonly onSent: () => void;
  readonly release: () => void;
}

export function hopOf(
  url: string,
  { beforeSend, onSent, release }: Extract<Admission, { kind: "admitted" }>,
  clock: Clock,
): Hop {
  let is_released = false;
  const hop: Hop = {
    url,
    admitted_ms: clock.mono(),
    answer: { status: null, retry_after_s: null },
    beforeSend,
    onSent,
    release() {
      if (!is_released) release(hop.answer);
      is_released = true;
    },
  };
  return hop;
}

export interface RequestSpacing {
  readonly wait: (url: string, admitted_ms: number) => Promise<void>;
}

/** Maximum number of remembered sites; the least recently used is forgotten first. */
const MAX_SITES = 10_000;
/**
 * Maximum wait for the distance, since a waiting page occupies a slot of the pool. It is the default delay of a domain.
 */
const MAX_SPACING_MS = 500;

/**
 * A page may wait for a browser between its permit and its request, so two pages of one site may be ready at the same
 * moment. Their requests are sent as far apart as their permits were granted, up to half a second. Slots limit how many
 * there can be.
 */
export function requestSpacing(clock: Clock): RequestSpacing {
  const last_by_site = new Map<string, { readonly entered_ms: number; readonly sent_ms: number }>();
  return {
    async wait(url, admitted_ms) {
      const site = siteOf(new URL(url).hostname);
      const previous = last_by_site.get(site);
      const now_ms = clock.mono();
      const apart_ms = previous ? previous.sent_ms + Math.abs(admitted_ms - previous.entered_ms) - now_ms : 0;
      const wait_ms = Math.max(0, Math.min(MAX_SPACING_MS, apart_ms));
      last_by_site.delete(site);
      last_by_site.set(site, { entered_ms: admitted_ms, sent_ms: now_ms + wait_ms });
      if (last_by_site.size > MAX_SITES) last_by_site.delete(last_by_site.keys().next().value!);
      if (wait_ms > 0) await pause(wait_ms);
    },
  };
}
