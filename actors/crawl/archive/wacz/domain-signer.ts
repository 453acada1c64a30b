/**
 * Signs WACZ files for the domain of a certificate: ECDSA in DER, with the time of an authority (RFC 3161), which proves that the
 * certificate was valid then. Without that time there is no signature. Files are read anew for each signature, so that a renewed
 * certificate needs no restart.
 */
import { sign } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import { type Egress, EgressError, type EgressProblem } from "../../../../cluster/ports/egress.ts";
import { wholeBody } from "../../../lib/whole-body.ts";
import { type DomainIdentity, readIdentity } from "./domain-identity.ts";
import { AUTH_VERSION, type Unsigned, unsigned, type WaczSigner } from "./signer.ts";
import { readStamp, stampRequest, type TimeStamp } from "./time-stamp.ts";

export interface DomainSignerSettings {
  readonly cert: string;
  readonly key: string;
  readonly timestamp_url: string;
}

interface DomainSignerDeps {
  /** Reaches the authority alone. */
  readonly egress: Pick<Egress, "exchange">;
  readonly clock: Pick<Clock, "now" | "at">;
}

/** Connection, answer and body together. */
const STAMP_MS = 15_000;
/** A response with a chain of certificates has 2 to 10 KB. */
const STAMP_BYTES = 65_536;
/** Verifiers refuse a creation that is later than the time stamp, or more than 10 minutes earlier. */
const CREATED_WINDOW_MS = 10 * 60_000;
/** So much may this node's clock be ahead of the authority's, which also leaves out parts of a second. */
const AHEAD_MS = 10_000;

/** Its message names the setting. */
export class SigningError extends Error {
  override readonly name = "SigningError";
}

const ENVS = { cert: "TRAWL_WACZ_CERT", key: "TRAWL_WACZ_KEY" } as const;

/** Throws SigningError when the files cannot be used now. */
export async function domainSigner(
  settings: DomainSignerSettings,
  { egress, clock }: DomainSignerDeps,
): Promise<WaczSigner> {
  await identityIn(settings, clock.now());
  return {
    form: "domain",
    // Not before what is in it, and not after now.
    createdMs(date_ms) {
      const now_ms = clock.now();
      return Math.min(now_ms, Math.max(date_ms, now_ms - AHEAD_MS));
    },
    async sign(signed) {
      let identity;
      try {
        identity = await identityIn(settings, clock.now());
      } catch (problem) {
        if (!(problem instanceof SigningError)) throw problem;
        return unsigned("signing_certificate_unusable", problem.message);
      }
      const signature = sign("sha256", Buffer.from(signed.hash), identity.key).toString("base64");
      const stamped = await timeOf(signature, settings.timestamp_url, { egress, clock });
      if (stamped.kind === "unsigned") return stamped;
      const earlier_ms = stamped.at_ms - Date.parse(signed.created);
      if (earlier_ms < 0 || earlier_ms > CREATED_WINDOW_MS)
        return unsigned(
          "time_stamp_invalid",
          `its time, ${new Date(stamped.at_ms).toISOString()}, is not that of this node's clock`,
        );
      const data = {
        ...signed,
        version: AUTH_VERSION,
        signature,
        domain: identity.domain,
        domainCert: identity.chain,
        timeSignature: stamped.response.toString("base64"),
        timestampCert: stamped.chain,
      };
      return { kind: "signed", data };
    },
  };
}

/** Throws SigningError. */
async function identityIn(
  settings: Pick<DomainSignerSettings, "cert" | "key">,
  now_ms: number,
): Promise<DomainIdentity> {
  const contentOf = (of: "cert" | "key"): Promise<string> =>
    readFile(settings[of], "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw new SigningError(`${ENVS[of]} cannot be read: "${settings[of]}" (${cause.code})`, { cause });
    });
  const read = readIdentity({ cert: await contentOf("cert"), key: await contentOf("key") }, now_ms);
  if (read.kind === "unusable") throw new SigningError(`${ENVS[read.in]} ${read.message}`);
  return read;
}

const TIMEOUTS: ReadonlySet<EgressProblem> = new Set(["timeout", "aborted"]);

/** Asks the authority once; redirects are not followed. */
async function timeOf(
  text: string,
  url: string,
  { egress, clock }: DomainSignerDeps,
): Promise<(TimeStamp & { readonly response: Buffer }) | Unsigned> {
  const request = stampRequest(text);
  const ended = new AbortController();
  const timer = clock.at(clock.now() + STAMP_MS, () => ended.abort());
  try {
    const exchange = await egress.exchange({
      url,
      method: "POST",
      headers: [
        ["Content-Type", "application/timestamp-query"],
        ["Accept", "application/timestamp-reply"],
        ["User-Agent", "trawl"],
      ],
      body: request.der,
      signal: ended.signal,
    });
    if (exchange.kind === "failed") return unreached(exchange.problem);
    if (exchange.status !== 200) {
      exchange.cancel();
      return unsigned("time_stamp_refused", `HTTP ${exchange.status}`);
    }
    const response = await wholeBody(exchange.body, STAMP_BYTES);
    if (response === null) return unsigned("time_stamp_invalid", `more than ${STAMP_BYTES} bytes`);
    const stamp = await readStamp(response, text, request);
    return stamp.kind === "unsigned" ? stamp : { ...stamp, response };
  } catch (problem) {
    if (!(problem instanceof EgressError)) throw problem;
    return unreached(problem.problem);
  } finally {
    timer[Symbol.dispose]();
  }
}

const unreached = (problem: EgressProblem): Unsigned =>
  unsigned(TIMEOUTS.has(problem) ? "time_stamp_timeout" : "time_stamp_unreachable", problem);
