/** Header fields of pages for people with scripts and styles in files of their own. */

/** Scripts and styles come from this server only, and a page may ask this server only. */
const policy = (frames: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    ...frames,
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");

const headersWith = (frames: readonly string[]) => ({
  "Content-Security-Policy": policy(frames),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-cache",
});

export const SCRIPTED_PAGE_HEADERS = headersWith([]);
/** It shows pages of this server in a frame. */
export const FRAMING_PAGE_HEADERS = headersWith(["frame-src 'self'"]);
