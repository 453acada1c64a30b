/**
 * Companies: the contracts of the company, feed and watch actors, and what clients send. The record's own shape is
 * company-v1.schema.json (JSON Schema 2020-12), which GET /v1/schemas/company serves.
 */
import { type Static, Type } from "typebox";
import { Field, Component, Nullable, Timestamp } from "./common.ts";
import { ask, contract, tell } from "../cluster/contracts/contract.ts";
import { deliveryContract } from "./delivery.ts";

export const COMPANY_ID = "^cmp_[0-9a-hjkmnp-tv-z]{16}$";
const CompanyId = Type.String({ pattern: COMPANY_ID });

export const CompanyChangeType = Type.Enum(["created", "updated", "merged", "split", "deleted"]);
export type CompanyChangeType = Static<typeof CompanyChangeType>;

/** The parts of a record that are fetched, kept fresh and fail separately. */
export const FIELD_GROUPS = [
  "core",
  "identifiers",
  "people",
  "ownership",
  "relationships",
  "filings",
  "financials",
  "events",
  "securities",
  "web",
] as const;
const FieldGroup = Type.Enum(FIELD_GROUPS);
export type FieldGroup = (typeof FIELD_GROUPS)[number];

/** Body of a delivery to the url of a watch. */
export const CompanyChangedEvent = Component("CompanyChangedEvent", {
  id: Field(
    Type.String({ pattern: "^evt_" }),
    "The id of the event, the same in every attempt",
    "evt_wyvsfbx2x89mpyyv0000000042",
  ),
  type: Field(Type.Literal("company.changed"), "The kind of event"),
  created_at: Field(Timestamp, "When the company changed"),
  watch_id: Type.String(),
  company_id: CompanyId,
  fields: Field(Type.Array(Type.String()), "Top-level fields that changed", ["names"]),
  change_cursor: Field(
    Type.String(),
    "For GET /v1/companies/changes: what changed after this",
    "eyJzZXEiOjQyfQ.8kZq",
  ),
  record_url: Field(
    Type.String({ format: "uri" }),
    "The record",
    "https://trawl.example/v1/companies/cmp_wyvsfbx2x89mpyyv",
  ),
});
export type CompanyChangedEvent = Static<typeof CompanyChangedEvent>;

/** Result of a refresh for one group of one source. */
export const CompanyRefresh = Type.Object({
  source: Type.String(),
  group: FieldGroup,
  result: Type.Enum(["refreshed", "fresh", "failed"]),
  error: Nullable(Type.String()),
  retry_after_s: Nullable(Type.Integer()),
  confirmed_at: Nullable(Type.String()),
});
export type CompanyRefresh = Static<typeof CompanyRefresh>;

const Payer = Type.Object({
  /** The prefix of a key. */
  key: Type.String(),
  /** Id of the request or batch item; what it spends is recorded under it. */
  request_id: Type.String(),
});

export const RefreshRequest = Type.Object({
  /** How the caller named the company, `scheme:value`; null: by its id. Sources are asked with it as well. */
  reference: Nullable(Type.String()),
  sources: Nullable(Type.Array(Type.String())),
  groups: Type.Array(FieldGroup),
  max_age_s: Nullable(Type.Integer({ minimum: 0 })),
  force: Type.Boolean(),
  project: Type.String(),
  lane: Type.Enum(["sync", "batch"]),
  /** The key that pays for sources that cost money; absent: these sources are not asked. */
  payer: Type.Optional(Payer),
  /** The request or item that this is for, for lines of the log. */
  work_id: Type.Optional(Type.String()),
});
export type RefreshRequest = Static<typeof RefreshRequest>;

export const RefreshAnswer = Type.Object({
  /**
   * `company`: it is stored; `unknown`: no source that answered knows it; `elsewhere`: another company has the
   * identifier.
   */
  kind: Type.Enum(["company", "unknown", "elsewhere"]),
  /** The company to read. */
  company_id: Type.String(),
  refresh: Type.Array(CompanyRefresh),
  /** Cost of the refresh for this caller; absent: nothing. */
  cost_micros: Type.Optional(Type.Integer()),
});
export type RefreshAnswer = Static<typeof RefreshAnswer>;

const MergeOrder = Type.Object({
  /** The company that remains. */
  survivor: CompanyId,
  /** The strong identifier both have, `scheme:value`. */
  shared: Type.String(),
});

/** The Company actor, for any number of callers; its key is the company's id. All writes of a company are made by its actor. */
export const Company = contract(
  "company",
  {
    refresh: ask(RefreshRequest, RefreshAnswer),
    /** The operator undoes a merge: this company is its own again. Null: it was not merged. */
    split: ask(Type.Null(), Type.Object({ survivor: Nullable(CompanyId) })),
    /** The operator merges this company into another. Null: there is no such company, or it is this one. */
    mergeByOperator: ask(
      Type.Object({ survivor: CompanyId }),
      Type.Object({ survivor: Nullable(CompanyId) }),
    ),
    /** This company and the survivor share a strong identifier. */
    mergeInto: tell(MergeOrder),
    /** That company was merged into this one, or is no longer: resolve the record again. */
    aliasChanged: tell(Type.Object({ company_id: CompanyId })),
  },
  { finished: tell(Type.Object({ task: Type.Integer() })) },
);

/** The outcome of a source's canaries now. */
export const SourceCheck = Component("CompanySourceCheck", {
  source: Field(Type.String(), "The name of the source", "gleif"),
  /** Null: every canary gave what it must. */
  problem: Field(
    Nullable(Type.String()),
    "What was wrong; null: every answer was as it must be",
    "the LEI is not known",
  ),
});
export type SourceCheck = Static<typeof SourceCheck>;

/** The actor of a source; its key is the source's name. It asks the source for its canaries while the source is used. */
export const CompanySource = contract(
  "company_source",
  {
    /** The source was asked lately. */
    wake: tell(Type.Null()),
    /** Asks for the canaries now. */
    check: ask(Type.Null(), SourceCheck),
  },
  { checked: tell(SourceCheck), tick: tell(Type.Null()) },
);

export const COMPANY_FEED_KEY = "main";
/** Numbers the changes of all companies; one for the cluster. */
export const CompanyFeed = contract(
  "company_feed",
  { wake: tell(Type.Null()) },
  { sequenced: tell(Type.Object({ is_idle: Type.Boolean() })), tick: tell(Type.Null()) },
);

/** Delivers the changes of the companies of one watch; its key is the watch's id. */
export const CompanyWatch = deliveryContract("company_watch");

export const ImportOrder = Type.Object({
  kind: Type.String(),
  /** Where the file is on every node. */
  path: Type.String(),
  /** The address that the file was downloaded from, or one of its name. */
  origin: Type.String(),
  publish_ms: Type.Integer(),
  is_full: Type.Boolean(),
});
export type ImportOrder = Static<typeof ImportOrder>;

/** `began`: the number of the run; `busy`: another run of the source is not done; `unreadable`: why the file cannot be read. */
export const ImportReply = Type.Object({
  kind: Type.Enum(["began", "busy", "unreadable"]),
  run: Nullable(Type.Integer()),
  problem: Nullable(Type.String()),
});
export type ImportReply = Static<typeof ImportReply>;

/** Imports whole files of one source, one at a time; its key is the source's name. */
export const CompanyImport = contract(
  "company_import",
  {
    start: ask(ImportOrder, ImportReply),
    /** Goes on with a run whose node died. */
    wake: ask(Type.Null(), Type.Null()),
  },
  {
    begun: tell(Type.Object({ run: Nullable(Type.Integer()), problem: Nullable(Type.String()) })),
    look: tell(Type.Null()),
    finished: tell(Type.Object({ is_done: Type.Boolean() })),
  },
);
