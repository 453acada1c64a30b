/**
 * Which frames of a page are read with it: those of its site that robots.txt allows. They are loaded as everything that the page loads, without
 * slots of their own, so robots.txt is asked only when they are read, and once for each address.
 */
import type { TransportRequest } from "../../../lib/web/transport.ts";
import { originOf, parseUrl, siteOf } from "../../../lib/web/url.ts";
import { LATE, within } from "./in-time.ts";
import type { LeftOut } from "./shown-document.ts";

/** For robots.txt, which is known of the page's own origin. */
const ROBOTS_MS = 2_000;

export interface FrameRules {
  readonly refusalOf: (url: string) => Promise<LeftOut | null>;
}

export function frameRules(
  { admit }: Pick<TransportRequest, "admit">,
  page: {
    readonly url: () => string;
    /** Whether what it led to may be on public addresses only. */
    readonly isPublic: () => boolean;
    /** Before another origin of the site is asked for its robots.txt, which takes a slot of the site. */
    readonly freeSlot: () => void;
  },
): FrameRules {
  const known = new Map<string, Promise<boolean>>();

  async function ask(url: string): Promise<boolean> {
    const entry = await admit(url, { is_robots_only: true, is_public_only: page.isPublic() });
    if (entry.kind === "refused") return false;
    entry.release({ status: null, retry_after_s: null });
    return true;
  }

  return {
    async refusalOf(shown_url) {
      const url = parseUrl(shown_url)?.href;
      if (url === undefined || siteOf(new URL(url).hostname) !== siteOf(new URL(page.url()).hostname))
        return "other_site";
      if (originOf(url) !== originOf(page.url())) page.freeSlot();
      const asked = known.get(url) ?? ask(url).catch(() => false);
      known.set(url, asked);
      const allowed = await within(asked, ROBOTS_MS);
      return allowed === LATE || !allowed ? "robots" : null;
    },
  };
}
