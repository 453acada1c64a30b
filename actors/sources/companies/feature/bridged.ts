/** Common parts of the sources whose requests go through another slice. */
import type { SourceFailure, SourceResponse } from "../source.ts";

/** A source has 20 s; its slice answers before they are over. */
export const BRIDGE_TIMEOUT_MS = 18_000;

export const failed = (
  error: string,
  message: string,
  retry_after_s: number | null = null,
): SourceFailure => ({ kind: "failed", error, message, retry_after_s });

/** The digest of no bytes. */
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** The other slice knows that there is no such document. */
export const missing = (url: string, status: number, now_ms: number): SourceResponse => ({
  kind: "answered",
  status,
  headers: new Map(),
  body: Buffer.alloc(0),
  document: {
    url,
    retrieved_at: new Date(now_ms).toISOString(),
    sha256: EMPTY_SHA256,
    bytes: 0,
    content_type: null,
  },
});
