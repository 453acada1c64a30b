/**
 * The tier actors: one for each route on each node that has it (actors/crawl/tiers/README.md). A fetch calls the tier of the route
 * it takes; the tier runs the transport, and asks its caller before each request to an origin, so that robots.txt, slots
 * and fencing stay with the owner of the domain whichever node sends.
 */
import { type Static, Type } from "typebox";
import { Bytes, call, contract } from "../cluster/contracts/contract.ts";
import { Nullable, picked } from "./common.ts";
import { FetchOptions, Redirect, StoredScreenshot, TIER_OPTIONS } from "./fetch.ts";
import { type Tier, TIERS } from "./tier-table.ts";

const { url, max_bytes, user_agent, accept_language, country, ...more } = picked(
  FetchOptions.properties,
  TIER_OPTIONS,
);

/** A request as a tier gets it: the options that reach it, those that not every caller has being optional. */
export const TierRequest = Type.Object({
  url,
  /**
   * Networks (CIDRs) that are no public ones and that this request may reach, with its redirects until one comes from a public
   * address. Default: what the operator allows to the service itself.
   */
  networks: Type.Optional(Type.Array(Type.String())),
  /** The project that asks, for its share of a tier's places. Default: none. */
  project: Type.Optional(Type.String()),
  max_bytes,
  user_agent,
  accept_language,
  country,
  ...Type.Partial(Type.Object(more)).properties,
  /** The name of the proxy's exit. Default: one for each site and country. */
  session: Type.Optional(Type.String()),
  /** The cookies of the request's session, sealed. Default: none. */
  session_jar: Type.Optional(Type.String()),
  /** The secrets of the request's session, sealed, where its steps may type one. Default: none. */
  session_secrets: Type.Optional(Type.String()),
  /** For a conditional GET; null for a plain one. */
  validators: Nullable(
    Type.Object({ etag: Nullable(Type.String()), last_modified: Nullable(Type.String()) }),
  ),
  /** A part of the resource, as a Range header writes it; only the route `direct` supports it. Default: the whole. */
  range: Type.Optional(Type.String()),
  /** Rest of the caller's time, since clocks of nodes differ. */
  left_ms: Type.Optional(Type.Integer()),
});
export type TierRequest = Static<typeof TierRequest>;
/** The fields that a message to a tier has as the transport's request has them. */
export const TIER_FIELDS = Object.keys(TierRequest.properties).filter(
  (name) => name !== "left_ms",
) as Exclude<keyof TierRequest, "left_ms">[];

const Refusal = Type.Object({
  error: Type.String(),
  step: Type.Enum(["robots", "politeness", "dns", "egress", "extraction"]),
  reason: Type.String(),
  retry_after_s: Nullable(Type.Number()),
  detail: Nullable(Type.String()),
});

/** Question of a tier to a caller on another node. `admission` numbers the admissions of one call. */
export const TierQuestion = Type.Union([
  /** May this request be sent: robots.txt, a slot, the key's ownership. */
  Type.Object({
    do: Type.Literal("admit"),
    url: Type.String(),
    is_public_only: Type.Optional(Type.Boolean()),
    is_robots_only: Type.Optional(Type.Boolean()),
  }),
  /** Asked immediately before an admitted request is sent. */
  Type.Object({ do: Type.Literal("before_send"), admission: Type.Integer() }),
  Type.Object({ do: Type.Literal("sent"), admission: Type.Integer() }),
  Type.Object({
    do: Type.Literal("release"),
    admission: Type.Integer(),
    status: Nullable(Type.Integer()),
    retry_after_s: Nullable(Type.Number()),
  }),
  /** The limits for a body that exceeds those of the call: another caller may have joined the fetch. */
  Type.Object({ do: Type.Literal("limits") }),
]);
export type TierQuestion = Static<typeof TierQuestion>;

/** Answer to a TierQuestion: to `admit` and `limits` an object, to `before_send` a boolean, to the others null. */
export const TierAnswer = Type.Union([
  Type.Object({ kind: Type.Literal("admitted"), admission: Type.Integer() }),
  Type.Object({ kind: Type.Literal("refused"), refusal: Refusal }),
  Type.Object({ kind: Type.Literal("limits"), max_bytes: Type.Integer(), max_pdf_bytes: Type.Integer() }),
  Type.Boolean(),
  Type.Null(),
]);
export type TierAnswer = Static<typeof TierAnswer>;
export type AdmissionAnswer = Extract<TierAnswer, { readonly kind: "admitted" | "refused" }>;
export type LimitsAnswer = Extract<TierAnswer, { readonly kind: "limits" }>;

const common = {
  /** Changes of the request to its session's cookies, sealed. */
  session_changes: Type.Optional(Type.String()),
  redirects: Type.Array(Redirect),
  ms: Type.Number(),
  /** The exchanges as JSON, where the request wants them archived. */
  exchanges_json: Type.Optional(Bytes()),
};

export const TierReply = Type.Union([
  Type.Object({
    kind: Type.Literal("page"),
    ...common,
    final_url: Type.String(),
    status: Type.Integer(),
    /** Names and values, in the order of the response. */
    headers: Type.Array(Type.Tuple([Type.String(), Type.String()])),
    body: Bytes(),
    body_kind: Type.Enum(["origin", "rendered_dom"]),
    archived_at: Type.Optional(Type.String()),
    is_private: Type.Optional(Type.Boolean()),
    detail: Type.Optional(Type.String()),
    screenshot: Type.Optional(Type.Omit(StoredScreenshot, ["sha256"])),
    screenshot_bytes: Type.Optional(Bytes()),
    /** Outcomes of the steps, as JSON, and their files one after another. */
    actions: Type.Optional(Bytes()),
    action_files: Type.Optional(Bytes()),
    /** Wish of the caller that the page did not come to: a FetchError and a sentence. */
    shortfall: Type.Optional(Type.Object({ error: Type.String(), detail: Type.String() })),
  }),
  Type.Object({
    kind: Type.Literal("failed"),
    ...common,
    final_url: Nullable(Type.String()),
    reason: Type.String(),
    status: Nullable(Type.Integer()),
    detail: Nullable(Type.String()),
  }),
  Type.Object({
    kind: Type.Literal("refused"),
    ...common,
    final_url: Nullable(Type.String()),
    refusal: Refusal,
  }),
]);
export type TierReply = Static<typeof TierReply>;

const tierContract = (tier: Tier) =>
  contract(
    `tier.${tier}`,
    { fetch: call(TierRequest, TierReply, TierQuestion, TierAnswer) },
    {},
    { placement: { role: tier } },
  );

/** By route. */
export const TIER_CONTRACTS = Object.fromEntries(TIERS.map((tier) => [tier, tierContract(tier)])) as Readonly<
  Record<Tier, ReturnType<typeof tierContract>>
>;
