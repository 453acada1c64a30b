/** Asks the Filings actors: a call that needs no document is answered at once, any other by the actor of its filer. */
import { createHash } from "node:crypto";
import type { Node } from "../../../cluster/node-record.ts";
import { Fault, type FaultCode } from "../../../cluster/ports/fault.ts";
import { Filings, type FilingsCall, type FilingsReply } from "../../../schemas/filings.ts";
import { padCik, parseCik } from "./identifiers.ts";
import { refusalOf } from "./refusals.ts";
import type { CallerContext } from "./results.ts";

export type FilingsAnswer = Exclude<FilingsReply, { kind: "fault" }>;

/** Fields are passed on as the client sent them. Throws Fault. */
export type FilingsClient = (
  op: FilingsCall["op"],
  fields: FilingsCall["fields"],
  caller: CallerContext,
) => Promise<FilingsAnswer>;

/** An operation answers at its deadline; its answer needs time to arrive. */
const GRACE_MS = 5_000;

export function filingsClient({
  ask,
  clock,
  isConfigured,
}: Pick<Node, "ask" | "clock"> & {
  /** False: the operator declared no identity, so every call is refused. */
  readonly isConfigured: boolean;
}): FilingsClient {
  return async (op, fields, { project, lane, deadline_ms, id }) => {
    const now_ms = clock.now();
    const refusal = refusalOf({ op, fields }, { isConfigured, now_ms });
    const call = { op, fields, project, lane, deadline_ms: Math.round(deadline_ms), call_id: id };
    const timeout_ms = Math.max(0, deadline_ms - now_ms) + GRACE_MS;
    // Without an idempotency id: an item that was put back asks again with the same id, and wants another answer.
    const reply = refusal ?? (await ask(Filings, keyOf(op, fields), "run", call, { timeout_ms }));
    if (reply.kind === "fault") throw new Fault(reply.code as FaultCode, reply.message);
    return reply;
  };
}

function keyOf(op: FilingsCall["op"], fields: FilingsCall["fields"]): string {
  const cik = parseCik((fields["cik"] ?? "") as string | number);
  if (cik.kind === "valid") return padCik(cik.value);
  const { timeout_s: _timeout_s, project_ref: _project_ref, ...named } = fields;
  return createHash("sha256")
    .update(JSON.stringify([op, named]))
    .digest("hex");
}
