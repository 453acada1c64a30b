/** The timer of upload-pace.ts, for both servers. */
import type { UploadPace } from "../upload-pace.ts";

const CHECK_EVERY_MS = 500;

/** Checks uploads while a server listens. What is returned ends that. */
export function checkingUploads(pace: UploadPace): () => void {
  const timer = setInterval(() => pace.check(performance.now()), CHECK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
