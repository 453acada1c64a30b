/**
 * The contract of a source of company data: its description, and its answers. Each source is one file in sources/.
 * A source makes requests only through the `SourceHttp` it is given, which takes a slot of the source's limiter, stores
 * the exact bytes and reads the clock; a parser is a pure function of the bytes. Storing claims belongs to the company
 * actor.
 */
import type { SourceClaim } from "./claim.ts";
import type { FieldGroup } from "../../../schemas/companies.ts";

/** An identifier in the canonical form of its scheme (schemes/). */
export interface CompanyIdentifier {
  readonly scheme: string;
  readonly value: string;
}

/** How old a source's data may become before it is fetched again (freshness.ts has the times). */
export type FreshnessClass =
  | "registry_core"
  | "registry_people"
  | "lei_core"
  | "lei_relationships"
  | "filer_core"
  | "filings"
  | "ownership"
  | "financials"
  | "securities"
  | "profile"
  | "web";

export type SourceCapability =
  | "lookup"
  | "search"
  | "changes"
  | Exclude<FieldGroup, "core" | "identifiers" | "web">;

export interface SourceLicence {
  /** SPDX id where there is one: CC0-1.0, OGL-UK-3.0. */
  readonly id: string;
  readonly url: string;
  /** A text that must be shown beside the data; null: none. */
  readonly attribution: string | null;
  /** `open`: may be exported; `display`: may be shown in records only; `internal`: neither in exports nor to others. */
  readonly redistribution: "open" | "display" | "internal";
}

export interface GroupRule {
  /** Sources of greater precedence win: home register 100, regulator 75, GLEIF 60 or 80, profile site 40, web 20. */
  readonly precedence: number;
  readonly freshness: FreshnessClass;
}

/** A company that the source must know, and values it must give. */
export interface Canary {
  readonly identifier: CompanyIdentifier;
  readonly expect: readonly {
    readonly field: string;
    readonly key: string | null;
    readonly value: unknown;
  }[];
}

export interface SourceDescription {
  /** `gleif`: as in claims and URLs. */
  readonly name: string;
  readonly title: string;
  /** ISO 3166-1 alpha-2; `*`: all countries. */
  readonly countries: readonly string[];
  readonly schemes: {
    /** `lookup` takes identifiers of these schemes. The first is the source's own. */
    readonly lookup: readonly string[];
    /** Its documents contain identifiers of these schemes. */
    readonly yields: readonly string[];
  };
  /** Jurisdictions (or their countries) whose home register this is; its precedence is 100 there. */
  readonly home_register_of: readonly string[];
  readonly capabilities: readonly SourceCapability[];
  /** The groups `lookup` answers. */
  readonly groups: Readonly<Partial<Record<FieldGroup, GroupRule>>>;
  readonly licence: SourceLicence;
  /**
   * Its documents name persons also where no person was asked for: they cannot be downloaded, and are kept no longer than
   * persons are. Default false.
   */
  readonly has_personal_documents?: boolean;
  /**
   * It finds companies by their names, and confirms the identifier by the document it finds: it is asked only when a name
   * is known. Default false.
   */
  readonly needs_name?: boolean;
  /** Its requests cost money, which the caller's key pays: without a key that pays the source is not asked. Default false. */
  readonly is_paid?: boolean;
  readonly terms_url: string | null;
  readonly limits: { readonly requests_per_second: number; readonly max_in_flight: number };
  /** Grows when the same bytes give other claims. */
  readonly parser_version: string;
  readonly canaries: readonly Canary[];
}

export interface SourceSettings {
  /** Without a slash at the end. */
  readonly base_url: string;
  /** The API key or `user:password`, by source; null: none. */
  readonly credentials: string | null;
  /** Why the operator's other settings leave the source out; absent: they do not. */
  readonly inactive_because?: string;
  /** The source is asked only where a caller names it in `sources`. Default false. */
  readonly is_opt_in?: boolean;
}

export interface SourceRequest {
  readonly method: "GET" | "POST";
  /** Absolute. */
  readonly url: string;
  /** Accept, Authorization; User-Agent is added. */
  readonly headers?: readonly (readonly [string, string])[];
  /** JSON text. */
  readonly body?: string;
  /** A longer body is a failure. Default 8 MiB. */
  readonly max_bytes?: number;
}

/** A raw document: bytes that are stored, where they came from and when. */
export interface RawDocument {
  readonly url: string;
  /** ISO 8601. */
  readonly retrieved_at: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly content_type: string | null;
  /** A file of a whole source, which is not stored as a body; `url` ends with the row's number and first byte. */
  readonly is_import?: true;
}

export interface SourceResponse {
  readonly kind: "answered";
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly document: RawDocument;
}

/**
 * Why a source did not answer. `unreachable`, `timeout`, `rate_limited` (no slot, or 429), `http_<status>`, `too_large`,
 * `unreadable` (HTML, broken JSON), `schema_drift` (JSON of another shape), `not_configured`.
 */
export interface SourceFailure {
  readonly kind: "failed";
  readonly error: string;
  /** A sentence for people. */
  readonly message: string;
  readonly retry_after_s: number | null;
  /** The caller cannot pay: nothing was learned of the source. */
  readonly is_of_payer?: true;
  /** Other requests of the service had all slots of the source: it was not asked. */
  readonly has_no_slot?: true;
}

/**
 * Sends one request. 429 and 503 are `failed` already and pause the source; any other status is `answered`. It never
 * throws.
 */
export type SourceHttp = (request: SourceRequest) => Promise<SourceResponse | SourceFailure>;

export type GroupAnswer = {
  readonly group: FieldGroup;
  readonly documents: readonly RawDocument[];
} & (
  | {
      readonly kind: "claims";
      /** True: the documents list everything the source knows of the group, so a claim that is missing has ended. */
      readonly is_complete: boolean;
      readonly claims: readonly SourceClaim[];
      /** The source's precedence for these documents where it differs from the description's (a corroborated LEI record). */
      readonly precedence?: number;
      /** Why a part of the group was not read: the claims stand, nothing ends, and the group counts as failed. */
      readonly problem?: SourceFailure;
    }
  | SourceFailure
);

export type LookupAnswer =
  | {
      readonly kind: "found";
      /** The company's number at the source. */
      readonly native_id: string;
      readonly groups: readonly GroupAnswer[];
    }
  | { readonly kind: "not_found"; readonly documents: readonly RawDocument[] }
  /** The source withdrew the company: what the register shows of this source must go. */
  | { readonly kind: "withdrawn"; readonly documents: readonly RawDocument[] }
  | SourceFailure;

/** A company that a source's search found; it is not stored. */
export interface SearchHit {
  /** The identifier that `lookup` of this source takes. */
  readonly identifier: CompanyIdentifier;
  /** Every identifier of the hit, `identifier` included. */
  readonly identifiers: readonly CompanyIdentifier[];
  readonly name: string;
  readonly former_names: readonly string[];
  /** A status of company/v1. */
  readonly status: string;
  readonly jurisdiction: string | null;
  readonly city: string | null;
  /** A legal form's category of company/v1; null: not known. */
  readonly legal_form_category: string | null;
}

export type SearchAnswer = { readonly kind: "found"; readonly hits: readonly SearchHit[] } | SourceFailure;

export interface SearchQuery {
  readonly name: string;
  /** ISO 3166-1 alpha-2. */
  readonly country: string | null;
  readonly limit: number;
}

/** The name behind an identifier that no register looks up, as a source writes it. */
export type NameAnswer =
  | {
      readonly kind: "named";
      readonly name: string;
      /** ISO 3166-1 alpha-2: where the company is expected; null: not known. */
      readonly country: string | null;
    }
  | { readonly kind: "not_found" }
  | SourceFailure;

/** A company that is looked up, as the register knows it. */
export interface KnownCompany {
  /** The legal name first; empty: none is known. */
  readonly names: readonly string[];
  readonly city: string | null;
  /** ISO 3166-1 alpha-2. */
  readonly country: string | null;
  readonly identifiers: readonly CompanyIdentifier[];
  /** Addresses of its pages on sites of profiles. */
  readonly profiles: readonly { readonly site: string; readonly url: string }[];
}

export interface Source {
  readonly description: SourceDescription;
  /** Null: active; else what is missing, for the operator: `TRAWL_COMPANIES_HOUSE_KEY is not set`. */
  readonly inactive_because: string | null;
  /** The source is asked only where a caller names it in `sources`. Default false. */
  readonly is_opt_in?: boolean;
  /** `groups` are what the caller needs; an answer may have more, and lacks none of them that the source has. */
  lookup(
    identifier: CompanyIdentifier,
    groups: readonly FieldGroup[],
    http: SourceHttp,
    signal: AbortSignal,
    company: KnownCompany,
  ): Promise<LookupAnswer>;
  /**
   * The name of a company of which only an identifier is known; for a source that `needs_name`. The register looks for a company
   * of this name at the other sources, and asks `lookup` to confirm it. Absent: the source has no names.
   */
  nameOf?(identifier: CompanyIdentifier, http: SourceHttp, signal: AbortSignal): Promise<NameAnswer>;
  /** Absent: the source cannot search. */
  search?(query: SearchQuery, http: SourceHttp, signal: AbortSignal): Promise<SearchAnswer>;
}

/** Each file of sources/ exports one function of this type. */
export type OpenSource = (settings: SourceSettings) => Source;
