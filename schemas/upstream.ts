/**
 * How this service asks an upstream that limits requests by address: one limiter actor per egress grants slots, one
 * address actor per address requests it once for all callers. The messages are the same for every upstream; each
 * upstream has contracts of its own (schemas/filing-source.ts). Bytes never travel: an answer names them by their
 * digest.
 */
import { type Static, type TObject, Type } from "typebox";
import { Nullable, Sha256 } from "./common.ts";
import { type Ask, ask, type Contract, contract, Deadline, tell } from "../cluster/contracts/contract.ts";
import { Redirect } from "./fetch.ts";

/** The fields of a request that every upstream has; an upstream adds its hosts and kinds of documents. */
export const SourceRequestFields = {
  /** Path and query as they are sent; begins with "/". */
  path: Type.String({ pattern: "^/", maxLength: 8_192 }),
  /** The greatest age the caller accepts; 0: past the cache; null: the kind's own. */
  cache_ttl_s: Nullable(Type.Integer({ minimum: 0 })),
  /** Projects take turns in the limiter's queue. */
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** Unix milliseconds: when the caller stops waiting. */
  deadline_ms: Deadline(),
  max_bytes: Type.Integer({ minimum: 1 }),
  /** The request or item that this is for, for lines of the log. */
  work_id: Type.Optional(Type.String()),
  /** The folder that redirects must not leave, for example "/Archives/edgar/data/320193/000032019324000123/". */
  within: Type.Optional(Type.String({ pattern: "^/" })),
};

export const SourceAnswer = Type.Union([
  Type.Object({
    kind: Type.Literal("got"),
    url: Type.String(),
    final_url: Type.String(),
    redirects: Type.Array(Redirect),
    status: Type.Integer(),
    /** Names in lower case, every header the upstream sent. */
    headers: Type.Record(Type.String(), Type.String()),
    content_type: Nullable(Type.String()),
    /** Digest of the exact bytes after content decoding; the blob store has them. */
    sha256: Sha256,
    bytes: Type.Integer(),
    /** When these bytes last came from the upstream, ISO 8601. */
    retrieved_at: Type.String(),
    /** True: this answer needed no byte from the upstream. */
    cached: Type.Boolean(),
    /** True: the upstream was asked, and the stored bytes are still current. */
    revalidated: Type.Boolean(),
    /** Requests sent for this answer; callers that share an answer all get the same number. */
    requests: Type.Integer(),
  }),
  /** The upstream has no such document. It causes no pause. */
  Type.Object({
    kind: Type.Literal("missing"),
    url: Type.String(),
    status: Type.Integer(),
    requests: Type.Integer(),
  }),
  Type.Object({
    kind: Type.Literal("failed"),
    /** A code of schemas/errors.ts, or http_<status> for a status of the upstream's own (400, 401 …). */
    error: Type.String(),
    message: Type.String(),
    retry_after_s: Nullable(Type.Integer({ minimum: 1 })),
    status: Nullable(Type.Integer()),
    redirects: Type.Array(Redirect),
    requests: Type.Integer(),
    /** The upstream is paused, so the failure says nothing about this document. */
    paused: Type.Optional(Type.Literal(true)),
  }),
]);
export type SourceAnswer = Static<typeof SourceAnswer>;

export interface AddressOperations<Request> {
  /** `ask_id` names the ask. Callers under one id are answered each; nodes of earlier versions require the field. */
  readonly get: Ask<Request & { readonly ask_id: string }, SourceAnswer>;
}

const ADDRESS_OWN = {
  fetched: tell(Type.Object({ fetch_number: Type.Integer(), answer: SourceAnswer })),
  tick: tell(Type.Null()),
};
export type AddressOwn = typeof ADDRESS_OWN;

export type AddressContract<Request> = Contract<AddressOperations<Request>, AddressOwn>;

/** The actor of one address; its key is "<egress> <digest of the address>". */
export function addressContract<Request>(
  name: string,
  request: TObject,
  shard_by: string,
): AddressContract<Request> {
  const get = ask(Type.Object({ ...request.properties, ask_id: Type.String() }), SourceAnswer);
  const operations = { get } as AddressOperations<unknown> as AddressOperations<Request>;
  return contract(name, operations, ADDRESS_OWN, { shard_by });
}

export const SlotRequest = Type.Object({
  slot_id: Type.String(),
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** A longer queue is answered with rate_limited at once. */
  wait_max_ms: Type.Integer({ minimum: 0 }),
});
export type SlotRequest = Static<typeof SlotRequest>;

/** Permission for one request, between two moments of the limiter's clock, which mean nothing on another node; an unused slot is lost. */
export const Slot = Type.Object({
  slot_ms: Type.Integer(),
  not_after_ms: Type.Integer(),
  /** The number of the pause before the slot: its outcome says nothing about a later pause. */
  episode: Type.Integer(),
  /** The request that finds out whether a pause is over. */
  is_probe: Type.Boolean(),
});
export type Slot = Static<typeof Slot>;

export const SlotAnswer = Type.Union([
  Type.Object({
    kind: Type.Literal("granted"),
    slot: Slot,
    /** How long the ask waited at the limiter. */
    waited_ms: Type.Integer(),
    /** How long the slot is still valid when the answer leaves. */
    left_ms: Type.Integer(),
  }),
  Type.Object({
    kind: Type.Literal("refused"),
    /** `paused`: the upstream asked to be left alone; `rate_limited`: no slot within the time. */
    error: Type.Enum(["rate_limited", "paused"]),
    retry_after_s: Type.Integer({ minimum: 1 }),
  }),
]);
export type SlotAnswer = Static<typeof SlotAnswer>;

/** Outcome of a slot. Each is recorded once; a slot without an outcome expires. */
export const SlotOutcome = Type.Object({
  slot_id: Type.String(),
  slot: Slot,
  /**
   * `answered`: any answer that is no throttling; `throttled`: the upstream asked for fewer requests; `unreachable`: a
   * refused connection or no answer; `dropped`: nothing was sent.
   */
  result: Type.Enum(["answered", "throttled", "unreachable", "dropped"]),
  /** The Retry-After of a throttling answer. */
  retry_after_s: Nullable(Type.Integer({ minimum: 0 })),
  /** For the operator. */
  reason: Nullable(Type.String()),
});
export type SlotOutcome = Static<typeof SlotOutcome>;

/** An egress as an operator sees it. */
export const LimiterView = Type.Object({
  egress: Type.String(),
  requests_per_second: Type.Number(),
  waiting: Type.Integer(),
  in_flight: Type.Integer(),
  paused_until: Nullable(Type.String()),
  /** Pauses in a row; 0: none. */
  pause_level: Type.Integer(),
  pause_reason: Nullable(Type.String()),
});
export type LimiterView = Static<typeof LimiterView>;

/** Until when the upstream gets no request. */
export const Pause = Type.Object({
  until_ms: Type.Number(),
  /** Pauses in a row; 0: none. */
  level: Type.Integer(),
  /** Grows with each pause. */
  episode: Type.Integer(),
  reason: Nullable(Type.String()),
});
export type Pause = Static<typeof Pause>;

/** Slots the limiter took from the slot store. */
export const SlotRefill = Type.Object({
  /** In order; none: the upstream is paused, or a probe is on its way. */
  slots: Type.Array(Slot),
  /** Until when the answer of a probe is awaited; 0: there is no probe. */
  probing_until_ms: Type.Number(),
  pause: Pause,
});
export type SlotRefill = Static<typeof SlotRefill>;

/** The limiter of an egress, the key: it grants the right to send the next request. */
export const limiterContract = (name: string, shard_by: string) =>
  contract(
    name,
    {
      acquire: ask(SlotRequest, SlotAnswer),
      /** Answered with how long the upstream is paused now; null: it is not. */
      recordOutcome: ask(SlotOutcome, Type.Object({ retry_after_s: Nullable(Type.Integer({ minimum: 1 })) })),
      view: ask(Type.Null(), LimiterView),
    },
    {
      /** Null: the slot store cannot be read or written, so no request may be sent. */
      refilled: tell(Nullable(SlotRefill)),
      recorded: tell(Type.Object({ reply_to: Type.String(), pause: Pause })),
      tick: tell(Type.Null()),
    },
    { shard_by },
  );
export type LimiterContract = ReturnType<typeof limiterContract>;
