/**
 * The certificate and key that the API serves, read again when their files change, so that a renewed certificate needs no restart. A pair
 * that does not fit together is not served: the one before stays, and the log says so.
 */
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Log } from "../cluster/ports/log.ts";
import type { TlsPair, TlsSource } from "../gateway/http.ts";
import type { NodeConfig } from "../node/node-settings.ts";

/** Renewals come weeks before the end of a certificate. */
const LOOK_EVERY_MS = 10_000;

interface TlsPaths {
  readonly cert_file: string;
  readonly key_file: string;
}

/** Null: the service serves HTTP. Throws a sentence when one of the two is missing. */
export function tlsPaths({ tls_cert, tls_key }: NodeConfig["gateway"]): TlsPaths | null {
  if (tls_cert === undefined && tls_key === undefined) return null;
  if (tls_cert === undefined || tls_key === undefined)
    throw new Error("TRAWL_TLS_CERT and TRAWL_TLS_KEY are given together: one of them is missing");
  return { cert_file: tls_cert, key_file: tls_key };
}

/** Throws a sentence when the files cannot be read or do not fit together. */
export function readTlsPair({ cert_file, key_file }: TlsPaths): TlsPair {
  try {
    return readPair({ cert_file, key_file });
  } catch (cause) {
    throw new Error(
      `Cannot use the certificate "${cert_file}" with the key "${key_file}": ${(cause as Error).message}`,
      { cause },
    );
  }
}

function readPair({ cert_file, key_file }: TlsPaths): TlsPair {
  const pair = { cert: readFileSync(cert_file, "utf8"), key: readFileSync(key_file, "utf8") };
  createSecureContext(pair);
  return pair;
}

/** Throws as `readTlsPair`. */
export function openTlsFiles(
  paths: TlsPaths,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): TlsSource & { readonly close: () => void } {
  const { cert_file } = paths;
  let current = readTlsPair(paths);
  const listeners = new Set<(pair: TlsPair) => void>();
  let problem_told: string | null = null;

  function look(): void {
    timer = clock.at(clock.now() + LOOK_EVERY_MS, look);
    try {
      const next = readPair(paths);
      if (next.cert === current.cert && next.key === current.key) return;
      current = next;
      problem_told = null;
      for (const call of listeners) call(next);
      log.info("The certificate was replaced", { cert_file });
    } catch (problem) {
      // Once for each problem: half of a pair may be written for a moment.
      const message = (problem as Error).message;
      if (message !== problem_told)
        log.warn("The new certificate is not used", { cert_file, problem: message });
      problem_told = message;
    }
  }
  let timer = clock.at(clock.now() + LOOK_EVERY_MS, look);

  return {
    current: () => current,
    onChange: (call) => void listeners.add(call),
    close: () => timer[Symbol.dispose](),
  };
}
