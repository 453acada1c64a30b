/**
 * A route as a fetch takes it: a transport that calls the tier actor, of this node or another one. The caller's side of a
 * call keeps all decisions: the tier calls back the fetch's own admission, in the same process by a function call, and what a
 * tier that is gone has left open is released.
 */
import type { Node } from "../../../cluster/node-record.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { CallerSession, RoleClient, RoleResult } from "../../../cluster/role-actor.ts";
import { isPremium, type Tier, tierFailureReason } from "../../../schemas/tier-table.ts";
import {
  TIER_CONTRACTS,
  TIER_FIELDS,
  type TierAnswer,
  type TierQuestion,
  type TierReply,
  type TierRequest,
} from "../../../schemas/tiers.ts";
import type { Transport, TransportRequest, TransportResult } from "../../lib/web/transport.ts";
import { type Admitted, type TierCallbacks, UNANSWERED } from "./callbacks.ts";
import { remoteAnswers, RENEWAL_VALID_MS } from "./remote-permit.ts";
import { resultOf } from "./tier-reply.ts";

/** Longer than any fetch: its own deadline aborts the call. */
const MAX_CALL_MS = 330_000;

export function tierRoute(
  tier: Tier,
  {
    call,
    clock,
    onUnavailable,
  }: Pick<Node, "clock"> & {
    readonly call: RoleClient;
    /** No node could take the call, because what the tier needs is down. Default: nothing hears of it. */
    readonly onUnavailable?: () => void;
  },
): Transport {
  return async (request) => {
    const began_ms = clock.mono();
    const { signal, deadline_ms } = request;
    const message = {
      ...fieldsOf(request),
      ...(deadline_ms !== undefined && { left_ms: Math.round(deadline_ms - clock.now()) }),
    };
    const work: Work = { wasSent: false, hasRoom: false, broken: null };
    const result = await call(TIER_CONTRACTS[tier], "fetch", message, {
      signal,
      deadline_ms: clock.now() + MAX_CALL_MS,
      open: () => session(request, work, isPremium(tier), clock),
    });
    // A failure of the admission must fail the fetch, not only the call on the other node.
    if (work.broken !== null) throw work.broken.problem;
    if (result.kind === "done") {
      const hasRoom = await roomFor(request, work, result.reply);
      if (hasRoom) return resultOf(result.reply);
    }
    if (result.kind === "unavailable" || (result.kind === "no_node" && !signal.aborted)) onUnavailable?.();
    const ms = Math.round(clock.mono() - began_ms);
    const { reason, detail } = signal.aborted
      ? { reason: "timeout", detail: "The deadline passed before the route could answer" }
      : result.kind === "done"
        ? { reason: "no_room", detail: "This node had no room in memory for the body" }
        : failureOf(tier, result);
    return { kind: "failed", reason, detail, status: null, redirects: [], final_url: null, ms };
  };
}

/** The part of a request that its tier gets; what it asks of its caller stays here. */
function fieldsOf(request: TransportRequest): Omit<TierRequest, "left_ms"> {
  const fields: Record<string, unknown> = {};
  for (const name of TIER_FIELDS) if (request[name] !== undefined) fields[name] = request[name];
  const { validators } = request;
  // A record of a page may stand for its validators.
  const { etag = null, last_modified = null } = validators ?? {};
  return { ...(fields as Omit<TierRequest, "left_ms">), validators: validators && { etag, last_modified } };
}

/** A body that another node has received needs memory here as well. False: there is none. */
async function roomFor({ room }: TransportRequest, { hasRoom }: Work, reply: TierReply): Promise<boolean> {
  if (!room || hasRoom || reply.kind !== "page") return true;
  const { body, screenshot_bytes, actions, action_files } = reply;
  const bytes = [body, screenshot_bytes, actions, action_files].reduce(
    (sum, part) => sum + (part?.length ?? 0),
    0,
  );
  if (!(await room.reserve(bytes))) return false;
  room.settle(bytes);
  return true;
}

function failureOf(
  tier: Tier,
  result: Exclude<RoleResult<TierReply>, { readonly kind: "done" }>,
): Pick<Extract<TransportResult, { readonly kind: "failed" }>, "reason" | "detail"> {
  switch (result.kind) {
    case "busy":
      return {
        reason: tierFailureReason(tier, "busy"),
        detail: `All ${result.capacity} places are taken, and enough calls wait`,
      };
    case "unavailable": {
      const wait_s = Math.ceil(result.retry_after_ms / 1_000);
      return {
        reason: tierFailureReason(tier, "unavailable"),
        detail: `It failed before (${result.reason}); next try in ${wait_s} s`,
      };
    }
    case "no_node":
      return { reason: tierFailureReason(tier, "unavailable"), detail: `No node has the role ${tier}` };
    case "lost":
      return { reason: tierFailureReason(tier, "lost"), detail: result.detail };
  }
}

/** Knowledge of a call over all nodes that were tried. */
interface Work {
  wasSent: boolean;
  /** A tier of this process has reserved the memory for its body. */
  hasRoom: boolean;
  broken: { readonly problem: unknown } | null;
}

/** An admitted request, as the caller's side knows it. */
interface OpenAdmission {
  readonly entry: Admitted;
  /** The tier was told that it may send, and has not said that it did. */
  maySend: boolean;
}

function session(
  request: TransportRequest,
  work: Work,
  isPaid: boolean,
  clock: Clock,
): CallerSession<TierQuestion, TierAnswer> {
  const open = new Set<OpenAdmission>();
  let isClosed = false;
  const callbacks: TierCallbacks = {
    async admit(url, options) {
      const entry = await request.admit(url, options).catch((problem: unknown) => {
        work.broken = { problem };
        throw problem;
      });
      if (entry.kind === "refused") return entry;
      if (isClosed) {
        entry.release(UNANSWERED);
        return null;
      }
      const admitted = tracked(entry, work, open);
      return { kind: "admitted", giveBack: () => admitted.release(UNANSWERED), use: () => admitted };
    },
    currentLimits: () => currentLimits(request),
    room: {
      reserve: async (bytes) => {
        work.hasRoom = true;
        return request.room?.reserve(bytes) ?? true;
      },
      settle: (bytes) => request.room?.settle(bytes),
    },
  };
  return {
    local: callbacks,
    answer: remoteAnswers(callbacks),
    close() {
      isClosed = true;
      for (const { entry, maySend } of open)
        // A node that is not heard of any more may still send until its permit is too old.
        if (maySend) clock.at(clock.now() + RENEWAL_VALID_MS, () => entry.release(UNANSWERED));
        else entry.release(UNANSWERED);
      open.clear();
    },
    // A provider that was asked may have been paid.
    mayRepeat: () => !(isPaid && work.wasSent) && work.broken === null,
  };
}

/** The admission as a tier has it: released once, and not sent with after that. */
function tracked(entry: Admitted, work: Work, open: Set<OpenAdmission>): Admitted {
  const admission: OpenAdmission = { entry, maySend: false };
  open.add(admission);
  return {
    kind: "admitted",
    beforeSend() {
      if (!open.has(admission)) return false;
      admission.maySend = true;
      return entry.beforeSend();
    },
    onSent() {
      work.wasSent = true;
      admission.maySend = false;
      if (open.has(admission)) entry.onSent();
    },
    release(answer) {
      if (open.delete(admission)) entry.release(answer);
    },
  };
}

async function currentLimits(request: TransportRequest): ReturnType<TierCallbacks["currentLimits"]> {
  const { max_bytes, max_pdf_bytes = max_bytes } = (await request.currentLimits?.()) ?? request;
  return { max_bytes, max_pdf_bytes };
}
