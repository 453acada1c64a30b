/**
 * How fast the body of a request must come: PACE_BYTES in each PACE_MS and all of it within UPLOAD_MAX_MS, or the answer is
 * 408. A slow upload holds memory that others need.
 */

/** Below the time after which uWebSockets.js closes a connection without an answer (8 s). */
const PACE_MS = 6_000;
const PACE_BYTES = 96 * 1024;
const UPLOAD_MAX_MS = 5 * 60_000;
/** Checks that come this much apart are late: the process stood still, read nothing, and does not count that time. */
const CHECKS_APART_MS = 1_000;
export const TOO_SLOW =
  "the request body came too slowly: it must bring 16 KB a second and end within 300 s; send it compressed or in parts";

/** A body that arrives. */
export interface Upload {
  readonly received_bytes: number;
  /** Whether bytes are awaited: not while the adapter itself does not read. */
  readonly isAwaited: boolean;
  /** Ends it; called again while it is not removed. */
  readonly onTooSlow: () => void;
}

export interface UploadPace {
  /** Times are on a monotonic clock. */
  readonly add: (upload: Upload, now_ms: number) => void;
  readonly remove: (upload: Upload) => void;
  /** Ends the uploads that are too slow. Called twice a second. */
  readonly check: (now_ms: number) => void;
}

interface Window {
  readonly begun_ms: number;
  since_ms: number;
  bytes: number;
}

export function uploadPace(): UploadPace {
  const windows = new Map<Upload, Window>();
  let checked_ms = Infinity;
  return {
    add: (upload, now_ms) =>
      void windows.set(upload, { begun_ms: now_ms, since_ms: now_ms, bytes: upload.received_bytes }),
    remove: (upload) => void windows.delete(upload),
    check(now_ms) {
      const stood_ms = Math.max(0, now_ms - checked_ms - CHECKS_APART_MS);
      checked_ms = now_ms;
      for (const [upload, window] of windows) {
        window.since_ms += stood_ms;
        const { received_bytes, isAwaited } = upload;
        const isWindowOver = now_ms - window.since_ms >= PACE_MS;
        const isSlow = isWindowOver && received_bytes - window.bytes < PACE_BYTES;
        if (isWindowOver || !isAwaited) {
          window.since_ms = now_ms;
          window.bytes = received_bytes;
        }
        if (isAwaited && (isSlow || now_ms - window.begun_ms >= UPLOAD_MAX_MS)) upload.onTooSlow();
      }
    },
  };
}
