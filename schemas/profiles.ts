/**
 * Company profiles: what clients send and receive, the messages of the actors that ask the profile site, and what is
 * stored of its pages.
 */
import { type Static, type TSchema, Type } from "typebox";
import { Field, Component, BillingCategory, Nullable, Patterned, Timestamp, ProjectRef } from "./common.ts";
import { ask, contract, Deadline, tell } from "../cluster/contracts/contract.ts";
import { Attempt, Redirect, ShownAttempt } from "./fetch.ts";
import { PREMIUM_TIERS } from "./tier-table.ts";
import { ProfileErrorCode } from "./errors.ts";

/** The score of a suggested name, 0 to 100, from which it is the company that was asked for. */
export const MIN_SIMILARITY_DEFAULT = 70;
/** The candidates that a discovery lists. */
export const MAX_CANDIDATES = 10;
const MAX_NAME_CHARS = 500;

const Text = Nullable(Type.String());
const Texts = Type.Array(Type.String());
const PROFILE_URL = "https://www.northdata.com/Kranwerk+Muster+GmbH,+Musterstadt/HRB+12345";

const ENTITY_ID = "The company's id on the site; it may change";

// ---- What a page says

export const ProfileIdentifier = Component("ProfileIdentifier", {
  label: Field(Text, "As the site names it", "Lei"),
  source: Field(Text, "Who gives it", "Global Legal Entity Identifier Foundation"),
  value: Field(Type.String(), "The number", "9999000SYNTHETIC0113"),
  current: Field(Type.Boolean(), "false: the site marks it as former", true),
});
export type ProfileIdentifier = Static<typeof ProfileIdentifier>;

export const ProfileEvent = Component("ProfileEvent", {
  category: Field(
    Text,
    "event, person, merger, acquisition or control; null where the site has another kind",
    "event",
  ),
  date: Field(Text, "YYYY-MM-DD, where the site gives a whole date", "2010-06-01"),
  description: Field(Text, "In the site's words", "01.06.2010 Name: Kranwerk Muster GmbH"),
  text: Field(Text, "Abbreviated", "Namensänderung"),
  url: Field(Text, "Absolute", "https://www.northdata.com/?id=102"),
});
export type ProfileEvent = Static<typeof ProfileEvent>;

export const ProfilePublication = Component("ProfilePublication", {
  date: Field(Text, "YYYY-MM-DD", "2024-05-03"),
  summary: Field(Text, "What was published", "Jahresabschluss zum 31.12.2022"),
  company_name: Field(Text, "The company that it is about, of mentions", "Südkran GmbH, Musterstadt"),
});
export type ProfilePublication = Static<typeof ProfilePublication>;

export const ProfileOfficer = Component("ProfileOfficer", {
  name: Field(Type.String(), "The person", "Wilma Erfunden"),
  role: Field(Text, "In the site's words; person where only the graph has it", "Geschäftsführer"),
  since: Field(Text, "YYYY-MM-DD", "2019-04-01"),
  until: Field(Text, "YYYY-MM-DD", null),
  url: Field(Text, "Its address as the site writes it", "/?id=33"),
  absolute_url: Field(Text, "The same, absolute", "https://www.northdata.com/?id=33"),
  current: Field(
    Type.Boolean(),
    "false: the site says that it has ended, also where it does not say when",
    true,
  ),
});
export type ProfileOfficer = Static<typeof ProfileOfficer>;

export const ProfileRelation = Component("ProfileRelation", {
  name: Field(Type.String(), "The company", "Südkran GmbH"),
  relation: Field(Text, "merger, acquisition, control, or related where only the graph has it", "merger"),
  url: Field(Text, "Its address as the site writes it", "/?id=33"),
  absolute_url: Field(Text, "The same, absolute", "https://www.northdata.com/?id=33"),
});
export type ProfileRelation = Static<typeof ProfileRelation>;

export const ProfileConnection = Component("ProfileConnection", {
  id: Field(Text, "The site's id", "c2"),
  name: Field(Type.String(), "The company or person", "Polarstern Beteiligungs AG"),
  kind: Field(Type.Enum(["company", "person", "other"]), "What it is", "company"),
  relation: Field(Text, "In the site's words", "Beherrschung"),
  /** `in`: it has the relation to the company of the graph; `out`: the company has it; null: there is no direct link. */
  direction: Field(
    Nullable(Type.Enum(["in", "out"])),
    "in: it has the relation to the company; out: the company has it; null: no direct link",
    "in",
  ),
  since: Field(Text, "YYYY-MM-DD", "2019-04-01"),
  until: Field(Text, "YYYY-MM-DD", null),
  current: Field(Type.Boolean(), "Whether it holds", true),
  url: Field(Text, "Its address as the site writes it", "/?id=33"),
  absolute_url: Field(Text, "The same, absolute", "https://www.northdata.com/?id=33"),
});
export type ProfileConnection = Static<typeof ProfileConnection>;

const CONNECTIONS = {
  company_connections: Field(Type.Array(ProfileConnection), "Connected companies"),
  person_connections: Field(Type.Array(ProfileConnection), "Connected persons"),
  other_connections: Field(Type.Array(ProfileConnection), "Other connections, as addresses"),
};
export const Connections = Type.Object(CONNECTIONS);
export type Connections = Static<typeof Connections>;

export const NetworkGraph = Component("NetworkGraph", {
  ...CONNECTIONS,
  /** `data.json`: the site's graph; `page`: the page's persons and related companies, where the graph could not be fetched. */
  source: Field(Type.Enum(["data.json", "page"]), "`page` where the graph could not be fetched", "data.json"),
});
export type NetworkGraph = Static<typeof NetworkGraph>;

/** Fields of one profile page, without those that the request adds. */
const PAGE_FIELDS = {
  name: Field(Text, "Its name", "Kranwerk Muster GmbH"),
  register_id: Field(Text, "Its number in the register, or the register's text", "HRB 12345"),
  court: Field(Text, "The register's court", "Amtsgericht Musterstadt"),
  status: Field(Text, "Active, Terminated, Liquidation, or another word of the site", "Active"),
  identifiers: Field(Type.Array(ProfileIdentifier), "All its numbers"),
  address: Field(Text, "As the site writes it", "Kranweg 7, D-99999 Musterstadt"),
  city: Field(Text, "Its city", "Musterstadt"),
  country: Field(Text, "As the site writes it", null),
  path_country: Field(Text, "The country that the page's address shows, ISO 3166-1 alpha-2", "DE"),
  entity_id: Field(Text, "The company's id on the site; it may change", "9000000001"),
  lei: Field(Text, "Its LEI", "9999000SYNTHETIC0113"),
  industry: Field(Text, "Its industry", "28.22.0 Herstellung von Hebezeugen"),
  former_names: Field(Texts, "Earlier names", ["Kranbau Muster GmbH"]),
  former_addresses: Field(Texts, "Earlier addresses", ["Altdorf, Deutschland"]),
  corporate_purpose: Field(Text, "What the register says it does", "Bau von Kranen."),
  additional_info: Field(Text, "More that the site says, by lines", "Tel. 0900 1"),
  history: Field(Type.Array(ProfileEvent), "The timeline, the oldest first"),
  publications: Field(Type.Array(ProfilePublication), "What the company published"),
  mentions: Field(Type.Array(ProfilePublication), "Publications that mention it"),
  officers: Field(Type.Array(ProfileOfficer), "Persons of the page, then of the graph; not complete"),
  related: Field(
    Type.Array(ProfileRelation),
    "Partners of mergers, acquisitions and control, then companies of the graph",
  ),
};
export const PageProfile = Type.Object(PAGE_FIELDS);
export type PageProfile = Static<typeof PageProfile>;

export const Profile = Component("Profile", {
  ...PAGE_FIELDS,
  legal_form: Field(Text, "As the name writes it; null where it shows none", "GmbH"),
  network_graph: Field(NetworkGraph, "Its connections"),
  shareholders: Field(Type.Array(ProfileRelation), "Empty: the site's pages do not list them"),
  subsidiaries: Field(Type.Array(ProfileRelation), "Empty: they are not concluded from the graph"),
  parent_companies: Field(Type.Array(ProfileRelation), "Empty: they are not concluded from the graph"),
  /** The site's financial charts are not read. */
  financials: Field(Text, "Always null: the site's charts are not read", null),
  source_url: Field(Type.String(), "The page that was read", PROFILE_URL),
  discovery_query: Field(Text, "What found it", "Kranwerk Muster GmbH"),
  discovery_score: Field(Nullable(Type.Number()), "0 to 1", 0.96),
  discovery_method: Field(Nullable(Type.Enum(["suggest", "search"])), "How it was found", "suggest"),
  name_similarity: Field(Nullable(Type.Number()), "0 to 100", 96),
  scraped_at: Field(Timestamp, "When the page came from the site"),
  fetch_tier: Field(Type.Enum(["proxy", "web_render"]), "The route that brought it", "proxy"),
  parser_version: Field(Type.String(), "The parser that read it", "4"),
  provider: Field(Type.String(), "The site", "northdata"),
});
export type Profile = Static<typeof Profile>;

export const SuggestItem = Component("SuggestItem", {
  name: Field(Type.String(), "The company's name", "Kranwerk Muster GmbH"),
  url: Field(Type.String(), "Its profile page, absolute", PROFILE_URL),
  type: Field(Type.Literal("company"), "Persons are left out"),
});
export type SuggestItem = Static<typeof SuggestItem>;

// ---- The API

/** ISO 3166-1 alpha-2, or a name of a country in English or German; one that is not known is ignored. */
const Country = Type.Optional(Nullable(Type.String({ maxLength: 100 })));
const CALL = {
  country: Field(
    Country,
    "ISO 3166-1 alpha-2, or a name in English or German; one that is not known is ignored",
    "DE",
  ),
  session_key: Type.Optional(
    Field(
      Nullable(
        Patterned(
          "^[A-Za-z0-9_.-]{1,64}$",
          'Input should have 1 to 64 letters, digits, "_", "." and "-"; the exit\'s name is made of it',
        ),
      ),
      "Requests with the same key leave by the same exit",
      "batch7",
    ),
  ),
  /** Oldest acceptable page from the cache; 0 bypasses it. */
  cache_ttl_s: Type.Optional(Nullable(Type.Integer({ minimum: 0 }))),
  allow_paid: Type.Optional(
    Field(Type.Boolean({ default: true }), "false: nothing is requested, only the cache is read", true),
  ),
  project_ref: Type.Optional(ProjectRef),
};
const name = (description: string) =>
  Patterned("\\S", "Input should not be empty", { maxLength: MAX_NAME_CHARS, description });
const DISCOVERY = {
  headquarters: Type.Optional(
    Field(Nullable(Type.String({ maxLength: MAX_NAME_CHARS })), "Its city", "Musterstadt"),
  ),
  min_similarity: Type.Optional(
    Field(
      Type.Number({ minimum: 0, maximum: 100, default: MIN_SIMILARITY_DEFAULT }),
      "From this similarity of names, 0 to 100, a suggestion is the company",
      70,
    ),
  ),
  search_fallback: Type.Optional(
    Field(
      Type.Boolean({ default: true }),
      "Whether the web is searched where no suggestion is similar enough",
      true,
    ),
  ),
};

export const SuggestBody = Component("SuggestBody", {
  query: Field(name("The beginning of a company's name"), null, "Kranwerk"),
  ...CALL,
});
export type SuggestBody = Static<typeof SuggestBody>;
export const DiscoverBody = Component("DiscoverBody", {
  company_name: Field(name("The company that is looked for"), null, "Kranwerk Muster GmbH"),
  ...DISCOVERY,
  ...CALL,
});
export type DiscoverBody = Static<typeof DiscoverBody>;
export const ProfileBody = Component("ProfileBody", {
  url: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 8_192 })),
      "The address of a profile page; company_name is not used then",
      PROFILE_URL,
    ),
  ),
  company_name: Type.Optional(
    Field(
      Nullable(name("The company that is looked for, where there is no url")),
      null,
      "Kranwerk Muster GmbH",
    ),
  ),
  include_graph: Type.Optional(
    Field(Type.Boolean({ default: true }), "Whether the network graph is fetched", true),
  ),
  ...DISCOVERY,
  ...CALL,
});
export type ProfileBody = Static<typeof ProfileBody>;
export const GraphBody = Component("GraphBody", {
  entity_id: Field(Type.String({ minLength: 1, maxLength: 200 }), ENTITY_ID, "9000000001"),
  ...CALL,
});
export type GraphBody = Static<typeof GraphBody>;

export const PROFILE_OPS = ["suggest", "discover", "profile", "graph"] as const;
export type ProfileOp = (typeof PROFILE_OPS)[number];

/** An item of a batch: an operation and the fields of its endpoint. */
export const ProfilesItem = Component("ProfilesItem", {
  op: Type.Optional(Field(Type.Enum([...PROFILE_OPS], { default: "profile" }), "The operation", "profile")),
  query: Type.Optional(
    Field(Nullable(name("With op suggest: the beginning of a company's name")), null, "Kranwerk"),
  ),
  entity_id: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 200 })),
      "With op graph: the company's id on the site",
      "9000000001",
    ),
  ),
  ...ProfileBody.properties,
  include_graph: Field(
    ProfileBody.properties.include_graph,
    "With op profile: whether the network graph is fetched",
    true,
  ),
  url: Field(ProfileBody.properties.url, "With op profile: the address of a profile page", PROFILE_URL),
});
export type ProfilesItem = Static<typeof ProfilesItem>;

/** Where one page came from. */
export const ProfileFetch = Component("ProfileFetch", {
  url: Field(Type.String(), "The address that was requested", PROFILE_URL),
  final_url: Field(Text, "After redirects", PROFILE_URL),
  status: Field(Nullable(Type.Integer()), "HTTP status", 200),
  tier: Field(Nullable(Type.Enum([...PREMIUM_TIERS])), "The route that brought it", "proxy"),
  body_url: Text,
  sha256: Text,
  body_kind: Field(Nullable(Type.Enum(["origin", "rendered_dom"])), "What the bytes are", "origin"),
  retrieved_at: Field(Nullable(Timestamp), "When it came from the site"),
  cached: Type.Boolean(),
  revalidated: Field(Type.Boolean(), "The site confirmed the cached page", false),
  attempts: Field(Type.Array(ShownAttempt), "Every route that was tried, in order"),
  /** Null for the keys of an external customer. */
  cost_usd: Nullable(Type.Number()),
  parser_version: Field(Text, "The parser that read it", "4"),
});
export type ProfileFetch = Static<typeof ProfileFetch>;

export const ProfileCandidate = Component("ProfileCandidate", {
  url: Field(Type.String(), "Its address", PROFILE_URL),
  name: Field(Text, "Its name; null where it was searched", "Kranwerk Muster GmbH"),
  score: Field(
    Type.Number(),
    "Similarity of names, 0 to 100, of a suggestion; score of the address, 0 to 1, of a search result",
    96,
  ),
  query: Field(Type.String(), "What found it", "Kranwerk Muster GmbH"),
  title: Field(Text, "The title of the search result", "Kranwerk Muster GmbH, Musterstadt"),
});
export type ProfileCandidate = Static<typeof ProfileCandidate>;

const DISCOVERED = {
  url: Field(Text, "The address of the profile; null: none was found", PROFILE_URL),
  query: Field(Text, "What found it", "Kranwerk Muster GmbH"),
  score: Field(Nullable(Type.Number()), "0 to 1", 0.96),
  name_similarity: Field(Nullable(Type.Number()), "0 to 100; null where it was searched", 96),
  discovery_method: Field(Nullable(Type.Enum(["suggest", "search"])), "How it was found", "suggest"),
  candidates: Field(Type.Array(ProfileCandidate), "At most ten, the best first"),
};
export const Discovery = Component("Discovery", DISCOVERED);
export type Discovery = Static<typeof Discovery>;

/** Last fields of every answer. */
const OUTCOME = {
  error: ProfileErrorCode,
  error_detail: Text,
  retry_after_s: Nullable(Type.Integer()),
  cost_usd: Nullable(Type.Number()),
  billing_category: BillingCategory,
  request_id: Type.String(),
};
const answer = <Op extends ProfileOp, Fields extends Record<string, TSchema>>(
  title: string,
  op: Op,
  fields: Fields,
  detail: string,
) =>
  Component(title, {
    op: Field(Type.Literal(op), "The operation"),
    ...fields,
    ...OUTCOME,
    error_detail: Field(Text, "A sentence for people", detail),
  });

export const SuggestAnswer = answer(
  "SuggestAnswer",
  "suggest",
  {
    query: Field(Type.String(), "As it was sent", "Kranwerk"),
    country: Field(Text, "The country that was understood, ISO 3166-1 alpha-2", "DE"),
    items: Field(Type.Array(SuggestItem), "The companies"),
    fetch: Field(Nullable(ProfileFetch), "Where they come from"),
  },
  "The site had no slot in time",
);
export const DiscoverAnswer = answer(
  "DiscoverAnswer",
  "discover",
  { ...DISCOVERED, suggest_fetch: Field(Nullable(ProfileFetch), "Where the suggestions come from") },
  "Nothing on the site is similar enough",
);
export const ProfileAnswer = answer(
  "ProfileAnswer",
  "profile",
  {
    profile: Field(Nullable(Profile), "The profile; null where there is an error"),
    fetch: Field(Nullable(ProfileFetch), "Where the page comes from"),
    discovery: Field(Nullable(Discovery), "How it was found; null where its url was given"),
    graph_fetch: Field(Nullable(ProfileFetch), "Where the graph comes from; null where it was not asked for"),
    graph_error: Field(Text, "Why there is no graph: an error, or no_entity_id", "robots_disallowed"),
  },
  "The page is no company profile",
);
export const GraphAnswer = answer(
  "GraphAnswer",
  "graph",
  {
    entity_id: Field(Type.String(), ENTITY_ID, "9000000001"),
    ...CONNECTIONS,
    fetch: Field(Nullable(ProfileFetch), "Where the graph comes from"),
  },
  "entity_id is malformed",
);
export type SuggestAnswer = Static<typeof SuggestAnswer>;
export type DiscoverAnswer = Static<typeof DiscoverAnswer>;
export type ProfileAnswer = Static<typeof ProfileAnswer>;
export type GraphAnswer = Static<typeof GraphAnswer>;
export type ProfilesAnswer = SuggestAnswer | DiscoverAnswer | ProfileAnswer | GraphAnswer;

/** Answer of an item as it is stored: without its request id, with the costs that an external customer does not see. */
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
  /** Text that distinguishes its cache entry where the URL has more than that (a token of the page). Default: the URL. */
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

/** A request to the site, however it ended. */
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
  /** Headers of the response, by their names in lower case. */
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

/** A page as it is stored; the collection is `profile_pages`, the key the digest of kind and address. */
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

/** The actor of a page of the profile site; the key is `<site> <digest of kind and address>`. */
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

/** The actor that knows what the site's routes have come to; the key is the site. */
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
