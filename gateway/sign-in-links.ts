/**
 * Links to the console that sign a person in once, for whoever reads the terminal of a service that has just started. A link's secret stands behind
 * `#` in its address, so that no request and no log has it; it is good for one use, for ten minutes, and only for requests of this machine
 * (routes/console.ts). The process keeps its digest and the key, and forgets both when it is used or over.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Long enough to start a browser, short enough that a terminal's history is of no use. */
const LINK_MS = 600_000;
const SECRET_BYTES = 24;

export interface SignInLinks {
  /** The secret of a new link; the former one is void. */
  readonly make: (key: string) => string;
  /** The key of the link, which is void from now on; null: there is none with this secret, or it is over. */
  readonly take: (secret: string) => string | null;
}

export function signInLinks(now: () => number): SignInLinks {
  let open: { readonly digest: Buffer; readonly key: string; readonly ends_ms: number } | null = null;
  return {
    make(key) {
      const secret = randomBytes(SECRET_BYTES).toString("base64url");
      open = { digest: digestOf(secret), key, ends_ms: now() + LINK_MS };
      return secret;
    },
    take(secret) {
      if (open === null || !timingSafeEqual(open.digest, digestOf(secret))) return null;
      const { key, ends_ms } = open;
      open = null;
      return now() < ends_ms ? key : null;
    },
  };
}

const digestOf = (secret: string): Buffer => createHash("sha256").update(secret).digest();
