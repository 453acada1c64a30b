/**
 * Functions that a tier calls while it runs a call: the caller's own where the caller is in the same process, questions and
 * answers where it is on another node (remote-permit.ts).
 */
import type { Admission, AdmitOptions, BodyRoom, HopRefusal, OriginAnswer } from "../../lib/web/transport.ts";

export type Admitted = Extract<Admission, { readonly kind: "admitted" }>;

/** An admitted request that waits for a place of its tier. One of the two is called. */
interface HeldAdmission {
  readonly kind: "admitted";
  /** No request is sent: the slot is free again. */
  readonly giveBack: () => void;
  /** The request is about to be sent. */
  readonly use: () => Admitted | Promise<Admitted>;
}

export interface TierCallbacks {
  /** Null: the caller has left. May reject with Fault. */
  readonly admit: (
    url: string,
    options?: AdmitOptions,
  ) => Promise<HeldAdmission | { readonly kind: "refused"; readonly refusal: HopRefusal } | null>;
  /** The limits for a body that exceeds those of the call: another caller may have joined the fetch. */
  readonly currentLimits: () => Promise<{ readonly max_bytes: number; readonly max_pdf_bytes: number }>;
  /** The memory for the bodies of the call. */
  readonly room: BodyRoom;
}

export type AdmissionAnswer = Awaited<ReturnType<TierCallbacks["admit"]>>;

/** The release of a request that got no answer. */
export const UNANSWERED: OriginAnswer = { status: null, retry_after_s: null };
