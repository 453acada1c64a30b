/**
 * Header fields, cookies and steps that the caller of a crawl gives: they go to the origin of its seeds, and cookies with a domain to
 * the pages of that domain, never to another site that a page links to: what is typed may be a secret.
 */
import { type GivenCookie, isWithin, type OwnOptions } from "../../../../schemas/own-request.ts";

type Given = Pick<OwnOptions, "headers" | "cookies" | "actions">;

/** Options for a page. `own_origin`: of all seeds. */
export function ownOptionsOf({ headers, cookies, actions }: Given, page: string, own_origin: string): Given {
  const url = new URL(page);
  if (url.origin === own_origin)
    return {
      ...(headers != null && { headers }),
      ...(cookies != null && { cookies }),
      ...(actions != null && { actions }),
    };
  const isSafe = url.protocol === new URL(own_origin).protocol;
  const goesThere = ({ domain }: GivenCookie): boolean =>
    isSafe && domain != null && isWithin(url.hostname, domain);
  const kept = (cookies ?? []).filter(goesThere);
  return kept.length > 0 ? { cookies: kept } : {};
}
