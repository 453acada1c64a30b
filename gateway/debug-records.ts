/**
 * Debug records: the story of one request, for a key that the operator enabled and a request with `X-Service-Debug: 1`. A
 * record is a document under a random name that only its link tells, and is removed after a week.
 */
import { randomBytes } from "node:crypto";
import type { Clock } from "../cluster/ports/clock.ts";
import type { Documents } from "../cluster/ports/documents.ts";
import type { TraceStep } from "../schemas/trace.ts";
import type { Caller } from "./authenticate.ts";
import type { Head } from "./http.ts";

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

/** What a route knows of a call. */
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
  /** The address at which clients see the service is known. */
  readonly onAddress: (base: string) => void;
}

export const DEBUG_RECORDS = "debug_records";
const RETENTION_MS = 7 * 24 * 3_600_000;

export function openDebugRecords({
  documents,
  clock,
}: {
  readonly documents: Documents;
  readonly clock: Clock;
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
        request: body,
        ...outcome,
      };
      const name = randomBytes(24).toString("base64url");
      const expires_at_ms = Math.floor(clock.now()) + RETENTION_MS;
      await documents.put(DEBUG_RECORDS, name, record, 0, { expires_at_ms });
      return `${address}/debug/${name}`;
    },

    find: async (name) => ((await documents.get(DEBUG_RECORDS, name))?.value ?? null) as DebugRecord | null,
    onAddress: (base) => void (address = base),
  };
}
