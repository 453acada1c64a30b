/** Findings of `trawl doctor`: a state, a sentence, and what to do about it. Pure; doctor.ts measures. */
import { WARN_SKEW_MS, MAX_SKEW_MS } from "../cluster/clock-skew.ts";

export interface Finding {
  readonly check: string;
  /** `off`: not configured, and the service works without it. */
  readonly state: "ok" | "warning" | "off";
  readonly detail: string;
  /** Advice to an operator; null: nothing is to do. */
  readonly advice: string | null;
}

export const ok = (check: string, detail: string): Finding => ({ check, state: "ok", detail, advice: null });
export const off = (check: string, detail: string, advice: string | null = null): Finding => ({
  check,
  state: "off",
  detail,
  advice,
});
export const warning = (check: string, detail: string, advice: string): Finding => ({
  check,
  state: "warning",
  detail,
  advice,
});

const GIB = 2 ** 30;
const MIN_FREE_BYTES = 2 * GIB;
const MIN_FREE_SHARE = 0.05;

export function diskFinding(check: string, path: string, free_bytes: number, total_bytes: number): Finding {
  const share = total_bytes === 0 ? 0 : free_bytes / total_bytes;
  const detail = `"${path}" has ${(free_bytes / GIB).toFixed(1)} GiB free (${Math.round(share * 100)} %)`;
  return free_bytes < MIN_FREE_BYTES || share < MIN_FREE_SHARE
    ? warning(
        check,
        detail,
        "Make room or mount a larger disk: a full disk makes the service refuse writes with 503",
      )
    : ok(check, detail);
}

/** The service takes 400 MB with its readers; each page in a browser takes 200 MB more, and an out-of-memory kill loses what is in flight. */
const MIN_MEMORY_BYTES = 2 * GIB;

/** `total_bytes`: of the machine, or of the container where it has a limit. */
export function memoryFinding(total_bytes: number, cores: number): Finding {
  const detail = `${(total_bytes / GIB).toFixed(1)} GiB of memory, ${cores} ${cores === 1 ? "core" : "cores"}`;
  return total_bytes < MIN_MEMORY_BYTES
    ? warning(
        "machine",
        detail,
        "Give it 2 GiB or more, or leave pages in a browser to another node (TRAWL_ROLES)",
      )
    : ok("machine", detail);
}

/** A gateway's connections, an egress of 1,000 requests, files of the store and pipes to browsers and readers. */
const MIN_OPEN_FILES = 8_192;

/** `limits` as /proc/self/limits has it; null where there is no such file. */
export function openFilesFinding(limits: string | null): Finding {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(limits ?? "") ?? [];
  if (soft === undefined) return ok("file limits", "The limit of open files is not known on this system");
  const detail = `This process may open ${soft} files`;
  return soft === "unlimited" || Number(soft) >= MIN_OPEN_FILES
    ? ok("file limits", detail)
    : warning(
        "file limits",
        detail,
        `Raise it to ${MIN_OPEN_FILES} or more: LimitNOFILE= in the unit, ulimits in Compose, ulimit -n in a shell`,
      );
}

/** With fewer files requests fail for want of sockets under a small load. */
const TOO_FEW_FILES = 1_024;

/** For a node that starts; null: it may open enough files. `limits` as for `openFilesFinding`. */
export function fewFilesWarning(limits: string | null): string | null {
  const [, soft] = /^Max open files\s+(\d+)/m.exec(limits ?? "") ?? [];
  return soft === undefined || Number(soft) >= TOO_FEW_FILES
    ? null
    : `This process may open ${soft} files only: requests will fail for want of sockets. Raise it to ${MIN_OPEN_FILES} or more ` +
        "(LimitNOFILE= in the unit, ulimits in Compose, ulimit -n in a shell)";
}

/** `skew_ms`: ahead of `reference`, negative: behind. */
export function clockFinding(reference: string, skew_ms: number, error_ms: number): Finding {
  const away_ms = Math.round(Math.abs(skew_ms));
  const side = skew_ms > 0 ? "ahead of" : "behind";
  const detail =
    away_ms <= error_ms
      ? `The clock agrees with ${reference} within ${Math.ceil(error_ms)} ms`
      : `The clock is ${away_ms} ms ${side} ${reference}`;
  return away_ms - error_ms > WARN_SKEW_MS
    ? warning(
        "clock",
        detail,
        `Start NTP (timedatectl set-ntp true, or chronyd): from ${MAX_SKEW_MS} ms on a node of a cluster owns nothing`,
      )
    : ok("clock", detail);
}

/** Renewals come weeks before the end of a certificate: one that ends sooner was not renewed. */
const MIN_CERTIFICATE_DAYS = 14;
const DAY_MS = 86_400_000;

/** `names`: what the certificate is for. */
export function certificateFinding(names: string, ends_ms: number, now_ms: number): Finding {
  const days = Math.floor((ends_ms - now_ms) / DAY_MS);
  const end = new Date(ends_ms).toISOString();
  const advice = "Renew it: the service reads the new files within ten seconds";
  if (days < 0) return warning("TLS", `The certificate for ${names} ended at ${end}`, advice);
  const detail = `The certificate for ${names} ends in ${days} days, at ${end}`;
  return days < MIN_CERTIFICATE_DAYS ? warning("TLS", detail, advice) : ok("TLS", detail);
}

/** `tested`: versions of Node, for example 22.23.3. */
export function nodeFinding(running: string, tested: readonly string[]): Finding {
  const major = (version: string): string => version.replace(/^v/, "").split(".", 1)[0]!;
  const detail = `${running}; tested with ${tested.join(", ")}`;
  return tested.some((version) => major(version) === major(running))
    ? ok("Node.js", detail)
    : warning("Node.js", detail, "Start the service with npm start or trawl start, without TRAWL_NODE");
}

/** `listed`: null where the server has no such list. */
export function modelNameFinding(host: string, name: string, listed: readonly string[] | null): Finding {
  const check = "language model";
  if (listed === null) return ok(check, `${host} answers; it has no list of models to find "${name}" in`);
  // Ollama calls a model without a tag so.
  return listed.includes(name) || listed.includes(`${name}:latest`)
    ? ok(check, `${host} answers and has "${name}"`)
    : warning(
        check,
        `${host} answers and has no "${name}"`,
        `Set TRAWL_LLM_MODEL to one of its models: ${listed.slice(0, 10).join(", ") || "none is there yet"}`,
      );
}
