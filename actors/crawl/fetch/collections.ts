/** Collections of fetches. The actors of domains and hosts store their own state. */
import { collection } from "../../../cluster/collection.ts";
import type { StoredSession } from "../../../schemas/sessions.ts";
import type { CachedPage, PrivateMark } from "./freshness.ts";

/** By the digest of the cache key, or the key of a private copy. A page has its project's right to its body. */
export const PAGES = collection<CachedPage | PrivateMark>("pages", {
  expires: true,
  rebuildable: true,
  durable: true,
});
/** Fetches whose POST a run may have sent, by the id of the fetch. */
export const POSTS = collection<{ readonly at_ms: number }>("fetch_posts", { expires: true });
/** By `<project> <session id>`. Its texts are sealed. */
export const SESSIONS = collection<StoredSession>("sessions", { expires: true });
/** States of the actors of hosts, by `<site> <host>`. */
export const HOST_PROFILES = collection<object>("host_profile");
