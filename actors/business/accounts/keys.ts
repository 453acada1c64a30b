/**
 * Customers, projects and keys as documents: what `trawl key`, `trawl project` and `trawl customer` do, and what the
 * gateway looks up. Each change is one compare-and-set of one document, so a command works beside a running service. Keys
 * are drawn here from node:crypto; only a key's digest and prefix are stored.
 */
import { hash, randomBytes } from "node:crypto";
import type { Documents, PutOptions } from "../../../cluster/ports/documents.ts";
import {
  type Customer,
  type Grant,
  isUsable,
  type Key,
  KEY_MARKS,
  KEY_SHAPE,
  MAX_LABEL_CHARS,
  NAME_SHAPE,
  PREFIX_CHARS,
  type Project,
  PROJECT_RATE_DEFAULT,
  type QuotaCategory,
} from "../../../schemas/accounts.ts";
import { perUsdMicros } from "./exchange.ts";
import { checkNetwork } from "../../lib/web/destination.ts";
import {
  CUSTOMERS,
  FIRST_KEY,
  type FirstKeyClaim,
  KEYS,
  NAMES,
  type PrefixClaim,
  PROJECTS,
} from "./collections.ts";
import { type Collection } from "../../../cluster/collection.ts";
import { iso } from "../../lib/iso.ts";

/** A mistake of the operator; the message is a sentence for them. */
export class AccountError extends Error {
  override readonly name = "AccountError";
}

export const FIRST_NAME = "default";

/** The most keys a listing shows; an account with more lists them by project. */
export const MAX_LIST = 1_000;
/** Earlier price lists that are remembered. */
const MAX_PRICES = 100;
/** So many drawn keys in a row may have a prefix that is taken. */
const MAX_DRAWS = 20;

/** A new key: the role's mark and 32 random bytes in base 62. */
export function drawKey(role: Key["role"], random: (bytes: number) => Buffer = randomBytes): string {
  return KEY_MARKS[role] + base62(random(32));
}

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** 32 bytes need 43 digits: 62 ** 43 > 2 ** 256. */
function base62(bytes: Buffer): string {
  let value = BigInt(`0x${bytes.toString("hex")}`);
  let text = "";
  for (let digit = 0; digit < 43; digit++) {
    text = DIGITS[Number(value % 62n)]! + text;
    value /= 62n;
  }
  return text;
}

export const digestOf = (key: string): string => hash("sha256", key);
const prefixOf = (key: string): string => key.slice(0, PREFIX_CHARS);

/** A key with its project and customer. Null: the key is unknown, revoked or expired, or its project does not exist. */
export async function findGrant(
  documents: Documents,
  key_sha256: string,
  now_ms: number,
): Promise<Grant | null> {
  const key = await KEYS.get(documents, key_sha256);
  if (!key || !isUsable(key, now_ms)) return null;
  const project = await PROJECTS.get(documents, key.project);
  const customer = project && (await CUSTOMERS.get(documents, project.customer));
  if (!project || !customer) return null;
  return { key, project, customer, per_usd_micros: await perUsdMicros(documents, customer.currency) };
}

const claimOf = (documents: Documents, prefix: string): Promise<PrefixClaim | null> =>
  NAMES.get(documents, `prefix ${prefix}`);

/** By its prefix, revoked ones too. Null: there is none. Throws Fault. */
export async function findKey(documents: Documents, prefix: string): Promise<Key | null> {
  const claimed = await claimOf(documents, prefix);
  return claimed && KEYS.get(documents, claimed.key_sha256);
}

/** The customer's key with this prefix, also a revoked one. Null: there is none. Throws Fault. */
export async function findKeyOf(documents: Documents, customer: string, prefix: string): Promise<Key | null> {
  const key = await findKey(documents, prefix);
  const project = key && (await PROJECTS.get(documents, key.project));
  return project?.customer === customer ? key : null;
}

/** Throws AccountError when there is no such customer, and Fault. */
export async function customerNamed(documents: Documents, name: string): Promise<Customer> {
  const stored = await CUSTOMERS.get(documents, name);
  if (!stored) throw new AccountError(`There is no customer "${name}"`);
  return stored;
}

/** Throws AccountError when there is no such project, and Fault. */
export async function projectNamed(documents: Documents, name: string): Promise<Project> {
  const stored = await PROJECTS.get(documents, name);
  if (!stored) throw new AccountError(`There is no project "${name}"`);
  return stored;
}

export async function createCustomer(
  documents: Documents,
  { name, external, currency }: Pick<Customer, "name" | "external" | "currency">,
  now_ms: number,
): Promise<Customer> {
  assertName("customer", name);
  const customer: Customer = {
    name,
    status: "active",
    external,
    currency,
    budget_micros: null,
    created_at: iso(now_ms),
  };
  if (!(await CUSTOMERS.put(documents, name, customer, 0)))
    throw new AccountError(`Cannot create customer "${name}": the name is taken`);
  return customer;
}

export async function createProject(
  documents: Documents,
  { name, customer }: Pick<Project, "name" | "customer">,
  now_ms: number,
): Promise<Project> {
  assertName("project", name);
  if ((await CUSTOMERS.get(documents, customer)) === null)
    throw new AccountError(`Cannot create project "${name}": there is no customer "${customer}"`);
  const project: Project = {
    name,
    customer,
    rate_limit_rps: PROJECT_RATE_DEFAULT,
    user_agents: [],
    budget_micros: null,
    created_at: iso(now_ms),
  };
  if (!(await PROJECTS.put(documents, name, project, 0, { tag: customer })))
    throw new AccountError(`Cannot create project "${name}": the name is taken`);
  return project;
}

function assertName(subject: string, name: string): void {
  if (NAME_SHAPE.test(name)) return;
  throw new AccountError(
    `Cannot create ${subject} "${name}": a name is 1 to 63 characters a-z, 0-9, "-" and "_", and begins with a-z or 0-9`,
  );
}

export interface KeyOptions {
  readonly project: string;
  readonly role: Key["role"];
  readonly label?: string | null;
  readonly categories?: readonly QuotaCategory[] | null;
  readonly rate_limit_rps?: number | null;
  readonly quotas?: { readonly search?: number | null; readonly fetch?: number | null };
  readonly spend_cap_micros?: number | null;
  /** Default true. */
  readonly paid_fetches?: boolean;
  readonly debug?: boolean;
  /** Default: never. */
  readonly expires_at?: string | null;
}

export interface CreatedKey {
  /** Shown once: afterwards only its digest and its prefix are known. */
  readonly key: string;
  readonly record: Key;
}

/** Draws keys until a prefix is unused, then stores the key under its digest. */
export async function createKey(
  documents: Documents,
  options: KeyOptions,
  now_ms: number,
  draw: (role: Key["role"]) => string = drawKey,
): Promise<CreatedKey> {
  if ((await PROJECTS.get(documents, options.project)) === null)
    throw new AccountError(`Cannot create a key: there is no project "${options.project}"`);
  assertLabel(options.label ?? null);
  for (let attempts = 0; attempts < MAX_DRAWS; attempts++) {
    const key = draw(options.role);
    const record = await claim(documents, key, options, now_ms);
    if (record) return { key, record };
  }
  throw new AccountError(`Cannot create a key: ${MAX_DRAWS} prefixes in a row were taken`);
}

/** Claims the prefix, then stores the key. A process that dies in between leaves a used-up prefix and nothing else. */
async function claim(
  documents: Documents,
  key: string,
  options: KeyOptions,
  now_ms: number,
): Promise<Key | null> {
  const key_sha256 = digestOf(key);
  const prefix = prefixOf(key);
  if (!(await NAMES.put(documents, `prefix ${prefix}`, { key_sha256 }, 0))) return null;
  const record = recordOf(key, options, now_ms);
  if (!(await KEYS.put(documents, key_sha256, record, 0, { tag: record.project })))
    throw new AccountError(`Cannot create key "${prefix}": it exists already, in another project`);
  return record;
}

const recordOf = (key: string, options: KeyOptions, now_ms: number): Key => ({
  prefix: prefixOf(key),
  project: options.project,
  label: options.label ?? null,
  role: options.role,
  categories: options.categories ? [...options.categories] : null,
  rate_limit_rps: options.rate_limit_rps ?? null,
  quotas: { search: options.quotas?.search ?? null, fetch: options.quotas?.fetch ?? null },
  spend_cap_micros: options.spend_cap_micros ?? null,
  ...(options.paid_fetches === false && { paid_fetches: false }),
  ...(options.debug === true && { debug: true }),
  ...(options.expires_at != null && { expires_at: options.expires_at }),
  status: "active",
  created_at: iso(now_ms),
  revoked_at: null,
});

/** Oldest first; of one project, or of all. At most 1,000. */
export async function listKeys(documents: Documents, project?: string): Promise<readonly Key[]> {
  const range = { limit: MAX_LIST, ...(project !== undefined && { tag: project }) };
  const keys = (await KEYS.list(documents, range)).map(({ value }) => value);
  return oldestFirst(keys);
}

export const oldestFirst = (keys: readonly Key[]): readonly Key[] =>
  keys.toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));

/** Idempotent. */
export const revokeKey = (documents: Documents, prefix: string, now_ms: number): Promise<Key> =>
  changeKey(documents, "revoke", prefix, (key) =>
    key.status === "revoked" ? key : { ...key, status: "revoked", revoked_at: iso(now_ms) },
  );

/** Fields of a key that an operator may change; what is absent stays. */
export type KeyLimits = Partial<
  Pick<
    Key,
    "label" | "categories" | "rate_limit_rps" | "spend_cap_micros" | "paid_fetches" | "debug" | "expires_at"
  >
> & {
  readonly quotas?: Partial<Key["quotas"]>;
};

/** A quota counts the requests that begin after it was set. Throws AccountError and Fault. */
export async function limitKey(documents: Documents, prefix: string, limits: KeyLimits): Promise<Key> {
  assertLabel(limits.label ?? null);
  return changeKey(documents, "limit", prefix, (key) => ({
    ...key,
    ...limits,
    quotas: { ...key.quotas, ...limits.quotas },
  }));
}

/** A label is shown in one line of a list. */
function assertLabel(label: string | null): void {
  if (label === null || (label.length <= MAX_LABEL_CHARS && !/\p{Cc}/u.test(label))) return;
  throw new AccountError(
    `A label has at most ${MAX_LABEL_CHARS} characters, and no line breaks or other control characters`,
  );
}

async function changeKey(
  documents: Documents,
  verb: string,
  prefix: string,
  rule: (key: Key) => Key,
): Promise<Key> {
  const name = await claimOf(documents, prefix);
  if (!name)
    throw new AccountError(
      // An operator may have given a whole key, which no log and no terminal should show.
      `Cannot ${verb} "${prefixOf(prefix)}${prefix.length > PREFIX_CHARS ? "…" : ""}": no key has this prefix; a prefix has ${PREFIX_CHARS} characters, see trawl key list`,
    );
  return change(documents, KEYS, name.key_sha256, `key "${prefix}"`, rule);
}

/** Each is compared with every private address that the project asks for. */
const MAX_NETWORKS = 100;

/** User-Agents that a request can carry, up to the longest that a fetch may name. */
const USER_AGENT = /^[\x21-\x7e](?:[\x20-\x7e]{0,498}[\x21-\x7e])?$/;

/** Idempotent. Throws AccountError and Fault. */
export async function allowAgent(
  documents: Documents,
  project: string,
  user_agent: string,
): Promise<Project> {
  if (!USER_AGENT.test(user_agent))
    throw new AccountError(
      "Cannot allow this User-Agent: it should have 1 to 500 printable ASCII characters and no space at its ends",
    );
  return change(documents, PROJECTS, project, `project "${project}"`, (record) =>
    record.user_agents.includes(user_agent)
      ? record
      : { ...record, user_agents: [...record.user_agents, user_agent] },
  );
}

/** Idempotent, as `allowAgent` is. */
export const forbidAgent = (documents: Documents, project: string, user_agent: string): Promise<Project> =>
  change(documents, PROJECTS, project, `project "${project}"`, (record) => ({
    ...record,
    user_agents: record.user_agents.filter((allowed) => allowed !== user_agent),
  }));

/** Idempotent. Throws AccountError and Fault. */
export async function allowNetwork(documents: Documents, project: string, network: string): Promise<Project> {
  try {
    checkNetwork(network);
  } catch {
    throw new AccountError(
      `Cannot allow the network "${network}": it should be an address or a range in CIDR form, for example 10.1.0.0/16`,
    );
  }
  return change(documents, PROJECTS, project, `project "${project}"`, (record) => {
    const { networks = [] } = record;
    if (networks.includes(network)) return record;
    if (networks.length >= MAX_NETWORKS)
      throw new AccountError(`Cannot allow the network "${network}": a project has at most ${MAX_NETWORKS}`);
    return { ...record, networks: [...networks, network] };
  });
}

/** Idempotent, as `allowNetwork` is. */
export const forbidNetwork = (documents: Documents, project: string, network: string): Promise<Project> =>
  change(documents, PROJECTS, project, `project "${project}"`, ({ networks = [], ...record }) => ({
    ...record,
    networks: networks.filter((allowed) => allowed !== network),
  }));

export const setRate = (documents: Documents, project: string, rate_limit_rps: number): Promise<Project> =>
  change(documents, PROJECTS, project, `project "${project}"`, (record) => ({
    ...record,
    rate_limit_rps,
  }));

/** Whether exchanges are kept of the project's fetches that do not say. */
export const setArchive = (documents: Documents, project: string, isKept: boolean): Promise<Project> =>
  change(documents, PROJECTS, project, `project "${project}"`, (record) => {
    const { archive: _, ...rest } = record;
    return isKept ? { ...rest, archive: true } : rest;
  });

export const setBudget = (
  documents: Documents,
  project: string,
  budget_micros: number | null,
): Promise<Project> =>
  change(documents, PROJECTS, project, `project "${project}"`, (record) => ({
    ...record,
    budget_micros,
  }));

/** Limits what all projects of a customer together may spend in a month; null: no limit. */
export const setCustomerBudget = (
  documents: Documents,
  customer: string,
  budget_micros: number | null,
): Promise<Customer> =>
  change(documents, CUSTOMERS, customer, `customer "${customer}"`, (record) => ({
    ...record,
    budget_micros,
  }));

/** The buyer whom the customer's later invoices name. */
export const setBilling = async (
  documents: Documents,
  customer: string,
  billing: NonNullable<Customer["billing"]>,
): Promise<Customer> => {
  const texts = [billing.name, ...billing.address, ...(billing.tax_id === null ? [] : [billing.tax_id])];
  if (billing.address.length > MAX_ADDRESS_LINES || texts.some((text) => !BILLING_TEXT.test(text)))
    throw new AccountError(
      `Cannot set the billing of "${customer}": a name, at most ${MAX_ADDRESS_LINES} lines of address and a tax number, each of 1 to 200 characters without line breaks`,
    );
  return change(documents, CUSTOMERS, customer, `customer "${customer}"`, (record) => ({
    ...record,
    billing: { ...billing, address: [...billing.address] },
  }));
};
const MAX_ADDRESS_LINES = 8;
const BILLING_TEXT = /^\P{Cc}{1,200}$/u;

/** Prices of a succeeded request, by billing category in millionths, for a month and all later ones; {}: none. */
export const setPrices = (
  documents: Documents,
  customer: string,
  from: string,
  per_request: Readonly<Record<string, number>>,
): Promise<Customer> =>
  change(documents, CUSTOMERS, customer, `customer "${customer}"`, (record) => ({
    ...record,
    prices: [
      ...(record.prices ?? []).filter((entry) => entry.from < from).slice(-MAX_PRICES),
      { from, per_request: { ...per_request } },
    ],
  }));

export const setCustomerStatus = (
  documents: Documents,
  customer: string,
  status: Customer["status"],
): Promise<Customer> =>
  change(documents, CUSTOMERS, customer, `customer "${customer}"`, (record) => ({
    ...record,
    status,
  }));

/** All of them, page by page. Throws Fault. */
export async function* eachCustomer(documents: Documents): AsyncGenerator<Customer> {
  for (let from = ""; ;) {
    const page = await CUSTOMERS.list(documents, { from, limit: MAX_LIST });
    for (const { value } of page) yield value;
    if (page.length < MAX_LIST) return;
    from = `${page.at(-1)!.key}\0`;
  }
}

/** At most 1,000. */
export const listCustomers = async (documents: Documents): Promise<readonly Customer[]> =>
  (await CUSTOMERS.list(documents, { limit: MAX_LIST })).map(({ value }) => value);

/** Projects of all customers; at most 1,000. */
export const listProjects = async (documents: Documents): Promise<readonly Project[]> =>
  (await PROJECTS.list(documents, { limit: MAX_LIST })).map(({ value }) => value);

/** Projects of a customer, at most 1,000. */
export const projectsOf = async (documents: Documents, customer: string): Promise<readonly Project[]> =>
  (await PROJECTS.list(documents, { tag: customer, limit: MAX_LIST })).map(({ value }) => value);

const optionsOf = (value: Key | Project | Customer): PutOptions =>
  "customer" in value ? { tag: value.customer } : "project" in value ? { tag: value.project } : {};

async function change<T extends Key | Project | Customer>(
  documents: Documents,
  collection: Collection<T>,
  id: string,
  subject: string,
  rule: (value: T) => T,
): Promise<T> {
  const changed = await collection.update(documents, id, (previous) => {
    if (previous === null) throw new AccountError(`Cannot change ${subject}: no such name`);
    const next = rule(previous);
    return next === previous ? null : { value: next, options: optionsOf(next) };
  });
  return changed!.value;
}

/** Keys that a start created, or found. */
export interface PreparedAccounts {
  /** A new key, to be printed once; null: keys exist already, or the operator chose one. */
  readonly key: string | null;
  /** Whether the key in TRAWL_ADMIN_KEY was created now; null: the setting is empty. */
  readonly admin_key: Awaited<ReturnType<typeof ensureKey>> | null;
}

/** Longer than a node takes to store a key after its claim; a node that died in between is completed after it. */
const FIRST_KEY_CLAIM_MS = 60_000;

/**
 * Creates what a service needs before it can be called: a customer, its project `default`, and an admin key, which is the
 * operator's own if TRAWL_ADMIN_KEY is set. Runs at every start and leaves existing documents as they are.
 */
export async function prepareAccounts(
  documents: Documents,
  named_key: string | null,
  now_ms: number,
): Promise<PreparedAccounts> {
  const customer: Customer = {
    name: FIRST_NAME,
    status: "active",
    external: false,
    currency: "USD",
    budget_micros: null,
    created_at: iso(now_ms),
  };
  await CUSTOMERS.put(documents, FIRST_NAME, customer, 0);
  if ((await PROJECTS.get(documents, FIRST_NAME)) === null)
    await createProject(documents, { name: FIRST_NAME, customer: FIRST_NAME }, now_ms).catch((problem) => {
      if (!(problem instanceof AccountError)) throw problem; // Another node created it first.
    });
  const options: KeyOptions = { project: FIRST_NAME, role: "account_admin", label: "first" };
  if (named_key !== null)
    return { key: null, admin_key: await ensureKey(documents, named_key, "account_admin", now_ms) };
  // Nodes that start at once on an empty store all come here: the node that stores the claim creates the key. A claim
  // without a key is taken over only when it is old: its node may still be creating the key.
  const earlier = await FIRST_KEY.read(documents, "first key");
  if ((await KEYS.list(documents, { limit: 1 })).length > 0) return { key: null, admin_key: null };
  if (earlier !== null && now_ms - earlier.value.claimed_ms < FIRST_KEY_CLAIM_MS)
    return { key: null, admin_key: null };
  const drawn = drawKey("account_admin");
  const claimed: FirstKeyClaim = { prefix: prefixOf(drawn), claimed_ms: now_ms };
  if (!(await FIRST_KEY.put(documents, "first key", claimed, earlier?.version ?? 0)))
    return { key: null, admin_key: null };
  const { key } = await createKey(documents, options, now_ms, drawFirst(drawn));
  return { key, admin_key: null };
}

/** Returns the drawn key first, and new ones when its prefix is taken. */
function drawFirst(drawn: string): (role: Key["role"]) => string {
  let unused: string | null = drawn;
  return (role) => {
    const key = unused ?? drawKey(role);
    unused = null;
    return key;
  };
}

/** The settings that name a key. */
const NAMED_IN = { account_admin: "TRAWL_ADMIN_KEY", operator: "TRAWL_OPERATOR_KEY" } as const;

/** Creates the key that a setting names, in the first project, unless it exists. */
export async function ensureKey(
  documents: Documents,
  key: string,
  role: keyof typeof NAMED_IN,
  now_ms: number,
): Promise<"created" | "exists" | "revoked"> {
  const setting = NAMED_IN[role];
  const mark = KEY_MARKS[role];
  if (!KEY_SHAPE.test(key) || !key.startsWith(mark))
    throw new AccountError(
      `Cannot use ${setting}: such a key is "${mark}" and 17 to 200 characters A-Z, a-z, 0-9, "-" and "_"`,
    );
  const existing = await KEYS.get(documents, digestOf(key));
  if (existing) return existing.status === "active" ? "exists" : "revoked";
  const labelled: KeyOptions = { project: FIRST_NAME, role, label: setting };
  try {
    if (await claim(documents, key, labelled, now_ms)) return "created";
  } catch (problem) {
    // Another node that starts on the same store created it first.
    if ((await KEYS.get(documents, digestOf(key))) === null) throw problem;
    return "exists";
  }
  // A prefix without its key: a start died in between, or another node is creating the key at this moment.
  const name = await claimOf(documents, prefixOf(key));
  if (name?.key_sha256 !== digestOf(key))
    throw new AccountError(
      `Cannot use ${setting}: another key begins with "${prefixOf(key)}"; choose one that differs within its first ${PREFIX_CHARS} characters`,
    );
  await KEYS.put(documents, digestOf(key), recordOf(key, labelled, now_ms), 0, { tag: FIRST_NAME });
  return "created";
}
