/**
 * Debug records: the story of one request, for a key that the operator enabled and a request with `X-Service-Debug: 1`. Its
 * secrets are masked before it is stored, and it is removed after a week. The link of the answer is signed and opens it for an
 * hour; keys of its project open it as long as it is stored.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { Secrets } from "../cluster/ports/secrets.ts";
import { maskAddresses, maskValue } from "../cluster/ports/mask.ts";
import type { TraceStep } from "../cluster/contracts/trace.ts";
import type { Caller } from "./authenticate.ts";
import type { Head } from "./http.ts";
import { collection } from "../cluster/collection.ts";

export interface DebugRecord {
  readonly request_id: string;
  /** "POST /v1/fetch" */
  readonly operation: string;
  readonly project: string;
  /** The prefix of the key. */
  readonly key: string;
  readonly began_at: string;
  readonly ms: number;
  readonly cached: boolean;
  readonly billing_category: string;
  /** Null for an external customer. */
  readonly cost_usd: string | null;
  readonly error: string | null;
  readonly error_detail: string | null;
  /** The request's body. */
  readonly request: unknown;
  readonly attempts: readonly {
    readonly tier: string;
    readonly status: number | null;
    readonly reason: string;
    readonly ms: number;
    readonly detail: string | null;
  }[];
  /** Messages to actors; null: the cache or the run of another caller gave the answer. */
  readonly trace: readonly TraceStep[] | null;
}

/** The part of a call that its route knows. */
interface DebuggedCall {
  readonly request_id: string;
  readonly head: Head;
  readonly now_ms: number;
  readonly caller: Caller;
  readonly body: unknown;
}

type Outcome = Pick<
  DebugRecord,
  "cached" | "billing_category" | "error" | "error_detail" | "attempts" | "trace"
> & { readonly cost_usd: string };

export interface DebugRecords {
  readonly isWanted: (call: Pick<DebuggedCall, "head" | "caller">) => boolean;
  /** Stores the story and returns its link. Throws Fault. */
  readonly store: (call: DebuggedCall, outcome: Outcome) => Promise<string>;
  readonly find: (name: string) => Promise<DebugRecord | null>;
  /** Whether a link is one of `store`, unchanged and not too old. */
  readonly isOpen: (name: string, link: DebugLink) => boolean;
  /** The address at which clients see the service is known. */
  readonly onAddress: (base: string) => void;
}

/** The query of a debug_url. */
export interface DebugLink {
  /** Unix seconds. */
  readonly expires: number;
  readonly sig: string;
}

/** By the random name in the debug_url. */
export const DEBUG_RECORDS = collection<DebugRecord>("debug_records", { expires: true });
const RETENTION_MS = 7 * 24 * 3_600_000;
const LINK_S = 3_600;
const PURPOSE = "debug link";
const signedText = (name: string, expires: number): string => `${name} ${expires}`;

export function openDebugRecords({
  documents,
  clock,
  secrets,
}: {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, "sign" | "isSigned">;
}): DebugRecords {
  let address = "";
  return {
    isWanted: ({ head, caller }) =>
      caller.grant.key.debug === true && head.headers.get("x-service-debug") === "1",

    async store({ request_id, head, now_ms, caller, body }, { cost_usd, ...outcome }) {
      const { project, key, customer } = caller.grant;
      const record: DebugRecord = {
        request_id,
        operation: `${head.method} ${head.path}`,
        project: project.name,
        key: key.prefix,
        began_at: new Date(now_ms).toISOString(),
        ms: Math.round(clock.now() - now_ms),
        cost_usd: customer.external ? null : cost_usd,
        request: maskValue(body),
        ...(maskValue(outcome) as typeof outcome),
        // Keys of actors are often addresses; the field is named like a secret, and is none.
        trace: outcome.trace && outcome.trace.map((step) => ({ ...step, key: maskAddresses(step.key) })),
      };
      const name = randomBytes(24).toString("base64url");
      const expires_at_ms = Math.floor(clock.now()) + RETENTION_MS;
      await DEBUG_RECORDS.put(documents, name, record, 0, { expires_at_ms });
      const expires = Math.floor(clock.now() / 1_000) + LINK_S;
      return `${address}/debug/${name}?expires=${expires}&sig=${secrets.sign(PURPOSE, signedText(name, expires))}`;
    },

    find: (name) => DEBUG_RECORDS.get(documents, name),
    isOpen: (name, { expires, sig }) =>
      clock.now() < expires * 1_000 && secrets.isSigned(PURPOSE, signedText(name, expires), sig),
    onAddress: (base) => void (address = base),
  };
}
