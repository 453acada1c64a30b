/**
 * The stored documents of a company, and how they are read. One document holds the claims, the record that was resolved from them
 * and the outbox of its changes, so that one conditional write changes all three or none. Claims about people are a
 * document of their own, which expires. A third, small document is all that an unchanged refresh writes.
 */
import { Fault } from "../../../cluster/ports/fault.ts";
import type { Documents, PutOptions } from "../../../cluster/ports/documents.ts";
import type { CompanyChangeType, FieldGroup } from "../../../schemas/companies.ts";
import type { ResolvedRecord } from "./record.ts";
import type { RawDocument } from "./source.ts";
import type { StoredGroup } from "./stored-claims.ts";
import { type Collection, collection } from "../../../cluster/collection.ts";

/** Merges that are still to be made are listed by this tag. */
export const PENDING_TAG = "pending";

/** Claims about natural persons, as stored by company. */
export interface StoredPeople {
  readonly groups: readonly StoredGroup[];
  readonly stored_ms: number;
}

/** Two companies share a strong identifier. */
export interface PendingMerge {
  readonly judgement: "pending";
  readonly survivor: string;
  readonly loser: string;
  readonly shared: string;
}

/** Documents with changes that the feed has not numbered yet are listed by this tag. */
export const OUTBOX_TAG = "outbox";

/** A change that waits for its number in the change feed. */
export interface OutboxEntry {
  readonly type: CompanyChangeType;
  /** Top-level fields of the record. */
  readonly fields: readonly string[];
  readonly version: number;
  readonly at_ms: number;
  readonly merged_into: string | null;
  /** Before and after the change: a reader of either country gets it. */
  readonly countries: readonly string[];
}

export interface StoredCompany {
  readonly id: string;
  /** Grows by one with each change in the feed. */
  readonly version: number;
  /** The fencing token of the last writer. */
  readonly epoch: number;
  readonly written_ms: number;
  readonly created_ms: number;
  readonly updated_ms: number;
  readonly merged_into: string | null;
  /** Companies that were merged into this one. */
  readonly aliases: readonly string[];
  readonly groups: readonly StoredGroup[];
  readonly record: ResolvedRecord;
  /** The digest of the open claims about people, so that their change is noticed. */
  readonly people_digest: string | null;
  readonly outbox: readonly OutboxEntry[];
}

/** The result of the last request for a group of a source. */
export interface GroupCheck {
  readonly checked_ms: number;
  /** When the source last confirmed the open claims; null: it never did. */
  readonly confirmed_ms: number | null;
  readonly result: "ok" | "not_found" | "failed";
  readonly error: string | null;
  readonly retry_at_ms: number | null;
  /** The documents of the last successful request. */
  readonly documents: readonly RawDocument[];
}

/** Key: `<source> <group>`. */
export type Checks = Readonly<Record<string, GroupCheck>>;

export const checkKey = (source: string, group: FieldGroup | (string & {})): string => `${source} ${group}`;

/** Identifiers are claimed before a company is stored, so the company of an identifier may not be there (yet). */
export interface IdentifierOwners {
  /** A request looks the identifier up for the first time; the document expires unless a company is found. */
  readonly is_provisional?: true;
  readonly companies: readonly string[];
}

/** A judgement of two companies that may be one, and its reason. */
export interface JudgedPair {
  readonly judgement: Judgement;
  readonly because: string;
  readonly at: string;
  readonly shared?: string;
}

/** The verdict of the operator or of an earlier refusal about two companies. */
export type Judgement = "positive" | "negative" | "unsure";

export const COMPANIES = collection<StoredCompany>("companies");
/** By company: when each source was asked last. */
export const COMPANY_CHECKS = collection<Checks>("company_checks", { expires: true });
/** By company: claims about natural persons. */
export const COMPANY_PEOPLE = collection<StoredPeople>("company_people", { expires: true });
/** By `scheme:value`: which companies have the identifier. */
export const COMPANY_IDS = collection<IdentifierOwners>("company_ids", { expires: true });
/** By `<company> <company>`: merges that are still to be made, were refused, or were undone by the operator. */
export const COMPANY_EDGES = collection<PendingMerge | JudgedPair>("company_edges");
/** By the digest of a name: persons that the operator removed. */
export const REMOVED_PEOPLE = collection<{ readonly removed_at: string }>("company_people_removed");

/** A document and the version to write it at; null: it is not there. */
export interface Stored<T> {
  readonly value: T | null;
  readonly version: number;
}

export interface LoadedCompany {
  readonly company: Stored<StoredCompany>;
  readonly checks: Stored<Checks>;
  readonly people: Stored<StoredPeople>;
}

async function read<T>(documents: Documents, of: Collection<T>, key: string): Promise<Stored<T>> {
  return (await of.read(documents, key)) ?? { value: null, version: 0 };
}

/** Throws Fault. */
export async function loadCompany(documents: Documents, id: string): Promise<LoadedCompany> {
  const [company, checks, people] = await Promise.all([
    read(documents, COMPANIES, id),
    read(documents, COMPANY_CHECKS, id),
    read(documents, COMPANY_PEOPLE, id),
  ]);
  return { company, checks, people };
}

/** The companies that were merged into this one. Throws Fault. */
export async function loadAliases(
  documents: Documents,
  { aliases }: Pick<StoredCompany, "aliases">,
): Promise<readonly StoredCompany[]> {
  if (aliases.length === 0) return [];
  const found = await COMPANIES.getMany(documents, aliases);
  return found.filter((each) => each !== null);
}

/** Merges are flattened, so a chain is as short as the writes of two concurrent merges make it. */
const MAX_REDIRECTS = 5;

/** The company that answers for this id: itself, or what it was merged into; null: it is not stored. Throws Fault. */
export async function survivorOf(documents: Documents, id: string): Promise<StoredCompany | null> {
  let next = id;
  for (let hop = 0; hop < MAX_REDIRECTS; hop++) {
    const company = await COMPANIES.get(documents, next);
    if (!company) return null;
    if (company.merged_into === null) return company;
    next = company.merged_into;
  }
  throw new Fault("documents_unreachable", `Cannot follow the merges of "${id}": they do not end`);
}

/** Null: no company has the identifier. Throws Fault. */
export async function ownerOf(documents: Documents, reference: string): Promise<string | null> {
  return firstOwner(documents, await COMPANY_IDS.get(documents, reference));
}

/** Answers an id for each reference, in their order; null: no company has the identifier. Throws Fault. */
export async function ownersOf(
  documents: Documents,
  references: readonly string[],
): Promise<readonly (string | null)[]> {
  const owners = await COMPANY_IDS.getMany(documents, references);
  return Promise.all(owners.map((each) => firstOwner(documents, each)));
}

/** The first one that is stored: a request that looked the identifier up, or a crash, may have left an id without a company. */
async function firstOwner(documents: Documents, owners: IdentifierOwners | null): Promise<string | null> {
  const companies = owners?.companies ?? [];
  if (companies.length > 1)
    for (const id of companies) if ((await COMPANIES.get(documents, id)) !== null) return id;
  return companies[0] ?? null;
}

/** The tag of a company with changes, by which it is listed. */
export const companyOptions = ({ outbox }: StoredCompany): PutOptions =>
  outbox.length > 0 ? { tag: OUTBOX_TAG } : {};

/** False: another writer was first. Throws Fault. */
export const putCompany = (documents: Documents, company: StoredCompany, version: number): Promise<boolean> =>
  COMPANIES.put(documents, company.id, company, version, companyOptions(company));

/** The alpha-2 country of a jurisdiction. */
export const countryOf = (jurisdiction: string | null): string | null => jurisdiction?.slice(0, 2) ?? null;
