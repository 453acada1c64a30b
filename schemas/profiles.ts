/**
 * Company profiles: what clients send and receive, the messages of the actors that ask the profile site, and what is
 * stored of its pages.
 */
import { type Static, type TSchema, Type } from "typebox";
import { BillingCategory, Nullable, Patterned, Timestamp } from "./common.ts";
import { ask, contract, Deadline, tell } from "./contract.ts";
import { Attempt, Redirect } from "./fetch.ts";
import { PREMIUM_TIERS } from "./tier-table.ts";

/** The score of a suggested name, 0 to 100, from which it is the company that was asked for. */
export const MIN_SIMILARITY_DEFAULT = 70;
/** The candidates that a discovery lists. */
export const MAX_CANDIDATES = 10;
const MAX_NAME_CHARS = 500;

const Text = Nullable(Type.String());
const Texts = Type.Array(Type.String());

// ---- What a page says

export const ProfileIdentifier = Type.Object({
  label: Text,
  source: Text,
  value: Type.String(),
  /** False: the site marks it as former. */
  current: Type.Boolean(),
});
export type ProfileIdentifier = Static<typeof ProfileIdentifier>;

export const ProfileEvent = Type.Object({
  /** event, person, merger, acquisition or control; null where the site has another kind. */
  category: Text,
  /** YYYY-MM-DD, where the site gives a whole date. */
  date: Text,
  description: Text,
  text: Text,
  url: Text,
});
export type ProfileEvent = Static<typeof ProfileEvent>;

export const ProfilePublication = Type.Object({ date: Text, summary: Text, company_name: Text });
export type ProfilePublication = Static<typeof ProfilePublication>;

export const ProfileOfficer = Type.Object({
  name: Type.String(),
  role: Text,
  since: Text,
  until: Text,
  url: Text,
  absolute_url: Text,
  /** False: the site says that it has ended, also where it does not say when. */
  current: Type.Boolean(),
});
export type ProfileOfficer = Static<typeof ProfileOfficer>;

export const ProfileRelation = Type.Object({
  name: Type.String(),
  relation: Text,
  url: Text,
  absolute_url: Text,
});
export type ProfileRelation = Static<typeof ProfileRelation>;

export const ProfileConnection = Type.Object({
  id: Text,
  name: Type.String(),
  kind: Type.Enum(["company", "person", "other"]),
  relation: Text,
  /** `in`: it has the relation to the company of the graph; `out`: the company has it; null: there is no direct link. */
  direction: Nullable(Type.Enum(["in", "out"])),
  since: Text,
  until: Text,
  current: Type.Boolean(),
  url: Text,
  absolute_url: Text,
});
export type ProfileConnection = Static<typeof ProfileConnection>;

const CONNECTIONS = {
  company_connections: Type.Array(ProfileConnection),
  person_connections: Type.Array(ProfileConnection),
  other_connections: Type.Array(ProfileConnection),
};
export const Connections = Type.Object(CONNECTIONS);
export type Connections = Static<typeof Connections>;

export const NetworkGraph = Type.Object({
  ...CONNECTIONS,
  /** `data.json`: the site's graph; `page`: the page's persons and related companies, where the graph could not be fetched. */
  source: Type.Enum(["data.json", "page"]),
});
export type NetworkGraph = Static<typeof NetworkGraph>;

/** What one profile page says, without what the request adds to it. */
const PAGE_FIELDS = {
  name: Text,
  register_id: Text,
  court: Text,
  status: Text,
  identifiers: Type.Array(ProfileIdentifier),
  address: Text,
  city: Text,
  country: Text,
  path_country: Text,
  entity_id: Text,
  lei: Text,
  industry: Text,
  former_names: Texts,
  former_addresses: Texts,
  corporate_purpose: Text,
  additional_info: Text,
  history: Type.Array(ProfileEvent),
  publications: Type.Array(ProfilePublication),
  mentions: Type.Array(ProfilePublication),
  officers: Type.Array(ProfileOfficer),
  related: Type.Array(ProfileRelation),
};
export const PageProfile = Type.Object(PAGE_FIELDS);
export type PageProfile = Static<typeof PageProfile>;

export const Profile = Type.Object({
  ...PAGE_FIELDS,
  /** As the name writes it; null where it shows none. */
  legal_form: Text,
  network_graph: NetworkGraph,
  shareholders: Type.Array(ProfileRelation),
  subsidiaries: Type.Array(ProfileRelation),
  parent_companies: Type.Array(ProfileRelation),
  /** The site's financial charts are not read. */
  financials: Text,
  source_url: Type.String(),
  discovery_query: Text,
  discovery_score: Nullable(Type.Number()),
  discovery_method: Nullable(Type.Enum(["suggest", "search"])),
  name_similarity: Nullable(Type.Number()),
  scraped_at: Timestamp,
  fetch_tier: Type.Enum(["proxy", "web_render"]),
  parser_version: Type.String(),
  provider: Type.String(),
});
export type Profile = Static<typeof Profile>;

export const SuggestItem = Type.Object({
  name: Type.String(),
  /** Absolute. */
  url: Type.String(),
  type: Type.Literal("company"),
});
export type SuggestItem = Static<typeof SuggestItem>;

// ---- The API

/** ISO 3166-1 alpha-2, or a name of a country in English or German; one that is not known is ignored. */
const Country = Type.Optional(Nullable(Type.String({ maxLength: 100 })));
const CALL = {
  country: Country,
  session_key: Type.Optional(
    Nullable(
      Patterned(
        "^[A-Za-z0-9_.-]{1,64}$",
        'Input should have 1 to 64 letters, digits, "_", "." and "-"; the exit\'s name is made of it',
      ),
    ),
  ),
  /** Oldest acceptable page from the cache; 0 bypasses it. */
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  allow_paid: Type.Optional(Type.Boolean({ default: true })),
  project_ref: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
};
const name = (description: string) =>
  Patterned("\\S", "Input should not be empty", { maxLength: MAX_NAME_CHARS, description });
const DISCOVERY = {
  headquarters: Type.Optional(Nullable(Type.String({ maxLength: MAX_NAME_CHARS }))),
  min_similarity: Type.Optional(Type.Number({ minimum: 0, maximum: 100, default: MIN_SIMILARITY_DEFAULT })),
  search_fallback: Type.Optional(Type.Boolean({ default: true })),
};

export const SuggestBody = Type.Object({ query: name("The beginning of a company's name"), ...CALL });
export type SuggestBody = Static<typeof SuggestBody>;
export const DiscoverBody = Type.Object({
  company_name: name("The company that is looked for"),
  ...DISCOVERY,
  ...CALL,
});
export type DiscoverBody = Static<typeof DiscoverBody>;
export const ProfileBody = Type.Object({
  url: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 8_192 }))),
  company_name: Type.Optional(Nullable(name("The company that is looked for, where there is no url"))),
  include_graph: Type.Optional(Type.Boolean({ default: true })),
  ...DISCOVERY,
  ...CALL,
});
export type ProfileBody = Static<typeof ProfileBody>;
export const GraphBody = Type.Object({
  entity_id: Type.String({ minLength: 1, maxLength: 200 }),
  ...CALL,
});
export type GraphBody = Static<typeof GraphBody>;

export const PROFILE_OPS = ["suggest", "discover", "profile", "graph"] as const;
export type ProfileOp = (typeof PROFILE_OPS)[number];

/** One item of a batch: an operation and the fields of its endpoint. */
export const ProfilesItem = Type.Object({
  op: Type.Optional(Type.Enum([...PROFILE_OPS], { default: "profile" })),
  query: Type.Optional(Nullable(name("With op suggest: the beginning of a company's name"))),
  entity_id: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 200 }))),
  ...ProfileBody.properties,
});
export type ProfilesItem = Static<typeof ProfilesItem>;

/** Where one page came from. */
export const ProfileFetch = Type.Object({
  url: Type.String(),
  final_url: Text,
  status: Nullable(Type.Integer()),
  tier: Nullable(Type.Enum([...PREMIUM_TIERS])),
  body_url: Text,
  sha256: Text,
  body_kind: Nullable(Type.Enum(["origin", "rendered_dom"])),
  retrieved_at: Nullable(Timestamp),
  cached: Type.Boolean(),
  revalidated: Type.Boolean(),
  attempts: Type.Array(Attempt),
  /** Null for the keys of an external customer. */
  cost_usd: Nullable(Type.Number()),
  parser_version: Text,
});
export type ProfileFetch = Static<typeof ProfileFetch>;

export const ProfileCandidate = Type.Object({
  url: Type.String(),
  name: Text,
  /** Of a suggested candidate the similarity of names, 0 to 100; of one that was searched the score of its URL, 0 to 1. */
  score: Type.Number(),
  query: Type.String(),
  title: Text,
});
export type ProfileCandidate = Static<typeof ProfileCandidate>;

const DISCOVERED = {
  url: Text,
  query: Text,
  score: Nullable(Type.Number()),
  name_similarity: Nullable(Type.Number()),
  discovery_method: Nullable(Type.Enum(["suggest", "search"])),
  candidates: Type.Array(ProfileCandidate),
};
export const Discovery = Type.Object(DISCOVERED);
export type Discovery = Static<typeof Discovery>;

/** What every answer ends with. */
const OUTCOME = {
  error: Text,
  error_detail: Text,
  retry_after_s: Nullable(Type.Integer()),
  cost_usd: Nullable(Type.Number()),
  billing_category: BillingCategory,
  request_id: Type.String(),
};
const answer = <Op extends ProfileOp, Fields extends Record<string, TSchema>>(op: Op, fields: Fields) =>
  Type.Object({ op: Type.Literal(op), ...fields, ...OUTCOME });

export const SuggestAnswer = answer("suggest", {
  query: Type.String(),
  country: Text,
  items: Type.Array(SuggestItem),
  fetch: Nullable(ProfileFetch),
});
export const DiscoverAnswer = answer("discover", { ...DISCOVERED, suggest_fetch: Nullable(ProfileFetch) });
export const ProfileAnswer = answer("profile", {
  profile: Nullable(Profile),
  fetch: Nullable(ProfileFetch),
  discovery: Nullable(Discovery),
  graph_fetch: Nullable(ProfileFetch),
  graph_error: Text,
});
export const GraphAnswer = answer("graph", {
  entity_id: Type.String(),
  ...CONNECTIONS,
  fetch: Nullable(ProfileFetch),
});
export type SuggestAnswer = Static<typeof SuggestAnswer>;
export type DiscoverAnswer = Static<typeof DiscoverAnswer>;
export type ProfileAnswer = Static<typeof ProfileAnswer>;
export type GraphAnswer = Static<typeof GraphAnswer>;
export type ProfilesAnswer = SuggestAnswer | DiscoverAnswer | ProfileAnswer | GraphAnswer;

/** What is stored of an item, before its request id and what an external customer does not see. */
export type StoredProfilesAnswer =
  | Omit<SuggestAnswer, "request_id">
  | Omit<DiscoverAnswer, "request_id">
  | Omit<ProfileAnswer, "request_id">
  | Omit<GraphAnswer, "request_id">;

// ---- The actors

export const PROFILE_PAGES = ["suggest", "page", "graph", "other"] as const;
/** `page`: a profile; `other`: any page of the site, for a fetch: neither read nor cached here. */
export type ProfilePageKind = (typeof PROFILE_PAGES)[number];

/** The routes that a request may take, in their order. */
const Routes = Type.Array(Type.Enum([...PREMIUM_TIERS]));

export const ProfilePageRequest = Type.Object({
  kind: Type.Enum([...PROFILE_PAGES]),
  url: Type.String(),
  /** What distinguishes its cache entry where the URL has more than that (a token of the page). Default: the URL. */
  cache_name: Type.Optional(Type.String()),
  country: Text,
  session_key: Text,
  cache_ttl_s: Nullable(Type.Integer()),
  routes: Routes,
  max_bytes: Type.Integer(),
  lane: Type.Enum(["sync", "batch"]),
  project: Type.String(),
  /** The prefix of the caller's key; absent: no key pays. */
  key: Type.Optional(Type.String()),
  fetch_id: Type.String(),
  deadline_ms: Deadline(),
});
export type ProfilePageRequest = Static<typeof ProfilePageRequest>;

/** One request to the site, however it ended. */
const PAGE_FETCH = {
  url: Type.String(),
  final_url: Text,
  status: Nullable(Type.Integer()),
  tier: Nullable(Type.Enum([...PREMIUM_TIERS])),
  sha256: Text,
  content_type: Text,
  body_kind: Nullable(Type.Enum(["origin", "rendered_dom"])),
  retrieved_at: Text,
};
export const ProfilePageAnswer = Type.Object({
  ...PAGE_FETCH,
  cached: Type.Boolean(),
  revalidated: Type.Boolean(),
  attempts: Type.Array(Attempt),
  redirects: Type.Array(Redirect),
  /** Of the response, by their names in lower case. */
  headers: Type.Record(Type.String(), Type.String()),
  /** The body with what the parser read, as JSON; null where nothing was read. */
  reading_sha256: Text,
  parser_version: Text,
  cost_micros: Type.Integer(),
  /** A ProfileError; null: there is a page. */
  error: Text,
  error_detail: Text,
  retry_after_s: Nullable(Type.Integer()),
});
export type ProfilePageAnswer = Static<typeof ProfilePageAnswer>;

/** What is stored of a page; the collection is `profile_pages`, the key the digest of kind and address. */
export const StoredProfilePage = Type.Object({
  ...PAGE_FETCH,
  kind: Type.Enum([...PROFILE_PAGES]),
  headers: Type.Record(Type.String(), Type.String()),
  reading_sha256: Type.String(),
  parser_version: Type.String(),
  /** When the site last said that it is current. */
  validated_ms: Type.Number(),
});
export type StoredProfilePage = Static<typeof StoredProfilePage>;

/** One page of the profile site; the key is `<site> <digest of kind and address>`. */
export const ProfilePage = contract(
  "profile_page",
  {
    /** With the id of the ask: it replaces an earlier ask of the same caller. */
    get: ask(ProfilePageRequest, ProfilePageAnswer),
  },
  {
    fetched: tell(Type.Object({ run: Type.Integer(), answer: ProfilePageAnswer })),
    tick: tell(Type.Null()),
  },
  { shard_by: "domain" },
);

/** What the site's routes have come to; the key is the site. */
export const ProfileRoutes = contract(
  "profile_routes",
  {
    /** Whether this request leaves the proxy out, because it was refused within the last hour. */
    plan: ask(Type.Null(), Type.Object({ skip_proxy: Type.Boolean() })),
    recordProxy: tell(Type.Object({ outcome: Type.Enum(["ok", "refused"]) })),
  },
  {},
  { shard_by: "domain" },
);
