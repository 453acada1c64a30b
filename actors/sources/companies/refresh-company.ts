/**
 * A refresh of a company: asks the sources that are due, all at once, and writes what changed. Background work of the
 * company actor, so there is one at a time for a company; a writer that lost the key is refused by the document's version
 * and epoch.
 *
 * The order of the writes makes a crash harmless: identifiers point to the company before it is stored (a reader that finds
 * none asks the actor), the company is one write with its claims and its change, and the checks, which make the sources count
 * as asked, come last.
 */
import type { ActorClient, WorkContext } from "../../../cluster/actor.ts";
import type { BodyRefs } from "../../../cluster/body-refs.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import {
  Company,
  COMPANY_FEED_KEY,
  CompanyFeed,
  type CompanyRefresh,
  type RefreshAnswer,
  type RefreshRequest,
} from "../../../schemas/companies.ts";
import {
  type Applied,
  applyAnswers,
  type Knowledge,
  materialise,
  type SourceAnswer,
  withChange,
} from "./apply-answers.ts";
import { workFields } from "../../lib/work-fields.ts";
import { type AskSourceDeps, askSource, type LookupCaller } from "./ask-source.ts";
import type { FieldPath, SourceClaim } from "./claim.ts";
import { MAX_NOT_FOUND_S } from "./freshness.ts";
import { identify } from "./identify.ts";
import { decideMerge, edgeKey, isStrong, mergeSideOf } from "./merging.ts";
import type { PeopleStore } from "./people.ts";
import { ownIdentifiersOf, type RecordAddress } from "./record.ts";
import { identifierOf, referenceOf } from "./references.ts";
import {
  type KnownIdentifier,
  knownIdentifiers,
  ownReferencesOf,
  planRefresh,
  type RefreshPlan,
} from "./refresh-plan.ts";
import type { Imports } from "./imports/imported-company.ts";
import { withImported } from "./imports/imported.ts";
import { importedRecord } from "./imports/imported-record.ts";
import { type CompanyIndex, indexedCompany } from "./search-index.ts";
import type { CompanyIdentifier, KnownCompany, LookupAnswer, Source } from "./source.ts";
import type { StoredGroup } from "./stored-claims.ts";
import {
  type Checks,
  checkKey,
  COMPANY_CHECKS,
  COMPANY_EDGES,
  COMPANY_IDS,
  countryOf,
  type LoadedCompany,
  loadAliases,
  loadCompany,
  PENDING_TAG,
  type PendingMerge,
  putCompany,
  type StoredCompany,
  survivorOf,
} from "./stored-company.ts";

export interface RefreshDeps extends AskSourceDeps {
  readonly documents: Documents;
  readonly sources: readonly Source[];
  readonly imports: Imports;
  readonly index: CompanyIndex;
  readonly people: PeopleStore;
  readonly bodyRefs: BodyRefs;
}

/** Their documents may name persons: they are kept no longer than persons are. */
const PERSONAL_GROUPS: ReadonlySet<string> = new Set(["people", "ownership"]);

/** A source's identifiers lead to the next source: a LEI record to its home register, that to the filing system. */
const MAX_ROUNDS = 3;
const MAX_WRITE_ATTEMPTS = 8;
/** Many times as long as a lease. */
const EPOCH_TTL_MS = 60_000;
/** Stored of an identifier that no source knows. */
const UNKNOWN_TTL_MS = 2 * MAX_NOT_FOUND_S * 1_000;

/** A task of a company's actor. */
interface CompanyTask {
  readonly deps: RefreshDeps;
  readonly ask: ActorClient;
  readonly context: WorkContext;
  readonly company_id: string;
}

interface Run extends CompanyTask {
  readonly request: RefreshRequest;
}

interface Refreshed {
  readonly answers: readonly SourceAnswer[];
  readonly fresh: RefreshPlan["fresh"];
  readonly cost_micros: number;
}

/** Throws Fault. */
export async function refreshCompany(run: Run): Promise<RefreshAnswer> {
  const { deps, company_id } = run;
  const began_ms = deps.clock.now();
  const loaded = await loadCompany(deps.documents, company_id);
  const survivor = loaded.company.value?.merged_into ?? null;
  if (survivor !== null) return { kind: "elsewhere", company_id: survivor, refresh: [] };
  const refreshed = await askSources(run, loaded);
  const { cost_micros } = refreshed;
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const written = await writeAnswers(run, refreshed);
    if (!written) continue;
    deps.log.debug("A refresh of a company has ended", {
      ...workFields(run.request.work_id),
      company: written.company_id,
      outcome: written.kind,
      asked: refreshed.answers.map(({ source }) => source.description.name),
      ms: Math.round(deps.clock.now() - began_ms),
    });
    return cost_micros === 0 ? written : { ...written, cost_micros };
  }
  throw new Fault("document_contended", `Cannot store "${company_id}": other writers were always first`);
}

async function askSources(run: Run, loaded: LoadedCompany): Promise<Refreshed> {
  const { deps, request } = run;
  const { company, checks } = loaded;
  const now_ms = deps.clock.now();
  const known = new Map<string, KnownIdentifier>();
  const learn = (identifier: KnownIdentifier): void => {
    const key = referenceOf(identifier);
    if (!known.has(key)) known.set(key, identifier);
  };
  for (const identifier of company.value ? knownIdentifiers(company.value) : []) learn(identifier);
  // Last: the caller may name a merged company.
  const isAlone = (company.value?.aliases ?? []).length === 0;
  if (request.reference !== null) learn({ ...identifierOf(request.reference), is_own: isAlone });
  for (const identifier of await identified(run, company.value)) learn(identifier);
  if (company.value === null && request.reference !== null)
    for (const reference of (await deps.imports.company(request.reference))?.references ?? [])
      learn({ ...identifierOf(reference), is_own: true });

  const answers: SourceAnswer[] = [];
  const fresh = new Map<string, RefreshPlan["fresh"][number]>();
  let cost_micros = 0;
  const caller: LookupCaller = {
    ...request,
    max_age_s: request.force ? 0 : request.max_age_s,
    onCost: (micros) => void (cost_micros += micros),
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const asked = new Set(answers.map(({ source }) => source.description.name));
    const known_company = knownCompany(company.value, [...known.values()], answers);
    const open = deps.sources.filter(
      ({ description: { name, needs_name } }) =>
        !asked.has(name) && !(needs_name && known_company.names.length === 0),
    );
    const plan = planRefresh(open, [...known.values()], checks.value ?? {}, wantedOf(request), now_ms);
    for (const line of plan.fresh) fresh.set(checkKey(line.source, line.group), line);
    if (plan.lookups.length === 0) break;
    const found = await Promise.all(
      plan.lookups.map((lookup) => askSource(deps, lookup, { caller, company: known_company }, run.context)),
    );
    for (const [index, answer] of found.entries()) {
      const { source, groups, identifier } = plan.lookups[index]!;
      const { is_own } = identifier;
      answers.push({ source, groups, ...(!is_own && { asked_by: referenceOf(identifier) }), answer });
      for (const each of identifiersIn(answer)) learn({ ...each, is_own });
    }
  }
  return { answers, fresh: [...fresh.values()], cost_micros };
}

/** Identifiers of a company that is not stored, and that no source looks up by the identifier that the caller has. */
async function identified(
  { deps, request, context }: Run,
  stored: StoredCompany | null,
): Promise<readonly KnownIdentifier[]> {
  if (stored !== null || request.reference === null) return [];
  const asked = identifierOf(request.reference);
  const isLookedUp = deps.sources.some(
    ({ description: { needs_name, schemes } }) => !needs_name && schemes.lookup.includes(asked.scheme),
  );
  if (isLookedUp) return [];
  const found = await identify(deps, asked, request, context);
  return found === null ? [] : [{ ...found, is_own: true }];
}

/** From the record, and from the answers of this refresh where there is none yet. */
function knownCompany(
  stored: StoredCompany | null,
  identifiers: readonly CompanyIdentifier[],
  answers: readonly SourceAnswer[],
): KnownCompany {
  const record = stored?.record;
  const claims = answers.flatMap(({ answer }) =>
    answer.kind === "found"
      ? answer.groups.flatMap((group) => (group.kind === "claims" ? group.claims : []))
      : [],
  );
  const found = (field: FieldPath): unknown => claims.find((claim) => claim.field === field)?.value;
  const legal = record?.names.legal ?? (found("names.legal") as string | undefined);
  const address =
    record?.addresses.find(({ current }) => current) ?? (found("addresses") as RecordAddress | undefined);
  const jurisdiction = record?.jurisdiction ?? (found("jurisdiction") as string | undefined) ?? null;
  return {
    names: legal === undefined ? [] : [legal],
    city: address?.city ?? null,
    country: countryOf(jurisdiction) ?? address?.country ?? null,
    identifiers,
    profiles: (record?.web?.["profiles"] ?? []) as unknown as KnownCompany["profiles"],
  };
}

const wantedOf = ({ sources, groups, max_age_s, force, payer }: RefreshRequest) => ({
  sources,
  groups,
  max_age_s,
  force,
  pays: payer !== undefined,
});

function identifiersIn(answer: LookupAnswer): readonly CompanyIdentifier[] {
  if (answer.kind !== "found") return [];
  return answer.groups.flatMap((group) =>
    group.kind === "claims" ? group.claims.filter(isIdentifier).map(({ key }) => identifierOf(key!)) : [],
  );
}

const isIdentifier = ({ field, key, rejected_because }: SourceClaim): boolean =>
  field === "identifiers" && key !== null && rejected_because === undefined;

/** Null: another writer was first. */
async function writeAnswers(run: Run, refreshed: Refreshed): Promise<RefreshAnswer | null> {
  const { deps, company_id, context } = run;
  const { documents, clock, sources } = deps;
  const loaded = await loadCompany(documents, company_id);
  const { company, checks, people } = loaded;
  if (company.value?.merged_into)
    return { kind: "elsewhere", company_id: company.value.merged_into, refresh: [] };
  const now_ms = clock.now();
  if (company.value && isFencedOff(company.value, context.epoch, now_ms)) throw lost(company_id);
  const references = [
    ...(company.value ? ownReferencesOf(company.value) : [run.request.reference ?? []].flat()),
    ...refreshed.answers.flatMap(({ asked_by, answer }) =>
      asked_by === undefined ? identifiersIn(answer).map(referenceOf) : [],
    ),
  ];
  const imported = await deps.imports.groupsOf([...new Set(references)]);
  const before = withImported<Knowledge>(
    company_id,
    {
      groups: company.value?.groups ?? [],
      people: people.value?.groups ?? [],
      checks: checks.value ?? {},
    },
    imported,
  );
  const isRemoved = await deps.people.removals(refreshed.answers);
  const applied = applyAnswers(before, refreshed.answers, { company_id, now_ms, isRemoved });
  const aliases = company.value ? await loadAliases(documents, company.value) : [];
  // The change feed has what imports know: a company that is stored now is changed by what else is known.
  const known =
    company.value ??
    importedRecord({ id: company_id, groups: imported }, { sources, now_ms })?.company ??
    null;
  const next = materialise(known, company_id, applied, aliases, {
    sources,
    epoch: context.epoch,
    now_ms,
  });
  const refresh = linesOf(applied, refreshed.fresh);
  if (next === null) {
    await rememberUnknown(run, applied, checks.version);
    return { kind: "unknown", company_id, refresh };
  }
  const owners =
    next === company.value ? EVERY_OWN : await claimIdentifiers(run, next, company.value === null);
  if (owners.elsewhere !== null) return { kind: "elsewhere", company_id: owners.elsewhere, refresh };
  if (!context.ownsKey()) throw lost(company_id);
  const merges = await planMerges(run, next, owners.rivals);
  const isRenewed = applied.outcomes.some(({ group, error }) => error === null && PERSONAL_GROUPS.has(group));
  if (applied.people !== before.people || (isRenewed && deps.people.isExpiring(people.value)))
    await deps.people.store(company_id, applied.people, people.version);
  await retainDocuments(run, company.value, next);
  if (next !== company.value && !(await putCompany(documents, next, company.version))) return null;
  const hasImported = next !== company.value && imported.length > 0;
  if (applied.checks !== before.checks || hasImported) await putChecks(run, applied.checks, checks.version);
  if (next !== company.value) await announce(run, next);
  for (const each of merges) await merge(run, each);
  return { kind: "company", company_id, refresh };
}

/** The documents that claims were first read from are kept as long as the claims, unless they name persons. */
async function retainDocuments(
  { deps, company_id }: Run,
  before: StoredCompany | null,
  after: StoredCompany,
): Promise<void> {
  if (before?.groups === after.groups) return;
  const personal = new Set(
    deps.sources
      .filter(({ description }) => description.has_personal_documents)
      .map(({ description }) => description.name),
  );
  const known = new Set(before?.groups.flatMap(({ documents }) => documents.map(({ sha256 }) => sha256)));
  const added = after.groups
    .filter(({ source, group }) => !PERSONAL_GROUPS.has(group) && !personal.has(source))
    .flatMap(({ documents }) => documents.filter(({ is_import }) => !is_import).map(({ sha256 }) => sha256))
    .filter((sha256) => !known.has(sha256));
  await deps.bodyRefs.retain(added, `company:${company_id}`, Infinity);
}

/** After a rebuild of the bus epochs begin anew, so an epoch that was stored long ago means nothing. */
const isFencedOff = (company: StoredCompany, epoch: number, now_ms: number): boolean =>
  company.epoch > epoch && now_ms - company.written_ms < EPOCH_TTL_MS;

const lost = (company_id: string): Fault =>
  new Fault("lease_lost", `Cannot store "${company_id}": another node may hold it`);

function linesOf({ outcomes, checks }: Applied, fresh: RefreshPlan["fresh"]): CompanyRefresh[] {
  const iso = (at_ms: number | null | undefined): string | null =>
    at_ms == null ? null : new Date(at_ms).toISOString();
  return [
    ...outcomes.map(({ source, group, error, retry_after_s }) => ({
      source,
      group,
      result: error === null ? ("refreshed" as const) : ("failed" as const),
      error,
      retry_after_s,
      confirmed_at: iso(checks[checkKey(source, group)]?.confirmed_ms),
    })),
    ...fresh.map(({ source, group, check }) => ({
      source,
      group,
      result: check.result === "ok" ? ("fresh" as const) : ("failed" as const),
      error: check.error,
      retry_after_s: null,
      confirmed_at: iso(check.confirmed_ms),
    })),
  ];
}

async function putChecks({ deps, company_id }: Run, checks: Checks, version: number): Promise<void> {
  if (await COMPANY_CHECKS.put(deps.documents, company_id, checks, version)) return;
  await COMPANY_CHECKS.update(deps.documents, company_id, (stored) => ({
    value: { ...stored, ...checks },
  }));
}

/** Sources that do not know the identifier are not asked again for a while. */
async function rememberUnknown(
  { deps, company_id }: Run,
  { checks }: Applied,
  version: number,
): Promise<void> {
  const expires_at_ms = deps.clock.now() + UNKNOWN_TTL_MS;
  await COMPANY_CHECKS.put(deps.documents, company_id, checks, version, { expires_at_ms });
}

/** Another company with one of the strong identifiers. */
interface Rival {
  readonly company_id: string;
  readonly shared: string;
}

interface IdentifierClaim {
  readonly rivals: readonly Rival[];
  /** A new company is not stored: this company has its identifier. */
  readonly elsewhere: string | null;
}

const EVERY_OWN: IdentifierClaim = { rivals: [], elsewhere: null };

/** Every identifier of the record, and its securities'. */
export function referencesOf({ identifiers, securities }: StoredCompany["record"]): readonly string[] {
  const isins = securities.flatMap(({ isin }) => (typeof isin === "string" ? [`isin:${isin}`] : []));
  const tickers = securities.flatMap(({ mic, ticker }) =>
    typeof ticker === "string" ? [`ticker:${typeof mic === "string" ? `${mic}:` : ""}${ticker}`] : [],
  );
  return [...new Set([...identifiers.map(referenceOf), ...isins, ...tickers])];
}

/** Points the identifiers to this company. A strong identifier that another company has is left as it is. */
async function claimIdentifiers(run: Run, company: StoredCompany, isNew: boolean): Promise<IdentifierClaim> {
  const { deps, company_id, request } = run;
  const { documents } = deps;
  const references = new Set(referencesOf(company.record));
  if (request.reference !== null) references.add(request.reference);
  const rivals: Rival[] = [];
  for (const reference of references) {
    const owner = await claimIdentifier(documents, reference, company_id);
    if (owner === company_id || !isStrong(identifierOf(reference).scheme)) continue;
    const rival = await survivorOf(documents, owner);
    if (rival && rival.id !== company_id) {
      // The identifier by which the caller named the new company leads to the older one from now on.
      if (isNew) return { rivals: [], elsewhere: await giveWay(run, rival.id) };
      rivals.push({ company_id: rival.id, shared: reference });
    } else if (!rival && isNew && owner < company_id) {
      // Two requests create the same company under two identifiers: the smaller id is the company.
      return { rivals: [], elsewhere: await giveWay(run, owner) };
    } else if (!rival) await repoint(documents, reference, owner, company_id);
  }
  return { rivals, elsewhere: null };
}

/** The owner of the identifier: this company, unless another one has it. */
async function claimIdentifier(documents: Documents, reference: string, company_id: string): Promise<string> {
  let owner = company_id;
  await COMPANY_IDS.update(documents, reference, (owners) => {
    const companies = owners?.companies ?? [];
    owner = companies.includes(company_id) ? company_id : (companies[0] ?? company_id);
    const isShared = !isStrong(identifierOf(reference).scheme);
    if (companies.includes(company_id)) return owners?.is_provisional ? { value: { companies } } : null;
    // An id that only a look-up stands for has no company; it claims the identifier again when it gets one.
    const others = isShared && owners?.is_provisional ? [] : companies;
    return others.length === 0 || isShared ? { value: { companies: [...others, company_id] } } : null;
  });
  return owner;
}

async function repoint(documents: Documents, reference: string, from: string, to: string): Promise<void> {
  await COMPANY_IDS.update(documents, reference, (owners) =>
    owners === null || owners.companies[0] === from ? { value: { companies: [to] } } : null,
  );
}

async function giveWay({ deps, company_id, request }: Run, owner: string): Promise<string> {
  if (request.reference !== null) await repoint(deps.documents, request.reference, company_id, owner);
  return owner;
}

/** Puts the change into the index and wakes the feed; the feed repeats what is lost here. */
async function announce(
  { deps, ask, request }: CompanyTask & Partial<Pick<Run, "request">>,
  company: StoredCompany,
): Promise<void> {
  await deps.index.put([indexedCompany(company)]).catch((problem: unknown) => {
    deps.log.warn("Cannot index a company; the change feed will", {
      ...workFields(request?.work_id),
      company: company.id,
      problem: String(problem),
    });
  });
  await wakeFeed(ask);
}

/** A lost wake-up costs nothing but time: the feed looks by itself. */
const wakeFeed = (ask: ActorClient): Promise<void> =>
  ask(CompanyFeed, COMPANY_FEED_KEY, "wake", null).catch(() => {});

/** Found merges are stored before the company is, until they are made: the feed actor repeats what a crash interrupts. */
async function planMerges(
  { deps, company_id }: Run,
  company: StoredCompany,
  rivals: readonly Rival[],
): Promise<readonly PendingMerge[]> {
  const { documents } = deps;
  const merges: PendingMerge[] = [];
  for (const { company_id: rival_id, shared } of rivals) {
    const other = await survivorOf(documents, rival_id);
    if (!other || other.id === company_id) continue;
    const decision = await decide(documents, company, other);
    if (decision.kind === "refused") {
      await recordRefusal(deps, company_id, other.id, shared, decision.because);
      continue;
    }
    const { survivor, loser } = decision;
    const pending: PendingMerge = { judgement: "pending", survivor, loser, shared };
    await COMPANY_EDGES.put(documents, edgeKey(survivor, loser), pending, 0, { tag: PENDING_TAG });
    merges.push(pending);
  }
  return merges;
}

async function merge(run: Run, { survivor, loser, shared }: PendingMerge): Promise<void> {
  if (loser === run.company_id) await mergeCompany(run, { survivor, shared });
  else await run.ask(Company, loser, "mergeInto", { survivor, shared });
}

async function decide(documents: Documents, a: StoredCompany, b: StoredCompany) {
  const edge = await COMPANY_EDGES.get(documents, edgeKey(a.id, b.id));
  const judgement = edge?.judgement === "pending" ? null : (edge?.judgement ?? null);
  return decideMerge(mergeSideOf(a), mergeSideOf(b), judgement);
}

/** The operator's judgement is left as it is. */
async function recordRefusal(
  { documents, clock }: RefreshDeps,
  a: string,
  b: string,
  shared: string,
  because: string,
): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  await COMPANY_EDGES.update(documents, edgeKey(a, b), (edge) =>
    edge === null || edge.judgement === "pending"
      ? { value: { judgement: "unsure", shared, because, at } }
      : null,
  );
}

/** The merge is made, or there is nothing left to merge. */
async function removePending(documents: Documents, a: string, b: string): Promise<void> {
  await COMPANY_EDGES.update(documents, edgeKey(a, b), (edge) =>
    edge?.judgement === "pending" ? "remove" : null,
  );
}

/**
 * This company becomes an alias of the survivor: one write. The change feed informs the survivor, too. `shared` is the
 * strong identifier of both; null: the operator merges them, whatever their identifiers and earlier judgements.
 * Answers the company that remains; null: there is nothing to merge, or it is refused.
 */
export async function mergeCompany(
  { deps, ask, company_id, context }: CompanyTask,
  { survivor, shared }: { readonly survivor: string; readonly shared: string | null },
): Promise<string | null> {
  const { documents, clock } = deps;
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const { company } = await loadCompany(documents, company_id);
    const other = await survivorOf(documents, survivor);
    if (!company.value || company.value.merged_into !== null || !other || other.id === company_id) {
      await removePending(documents, company_id, survivor);
      return null;
    }
    if (shared !== null) {
      const decision = await decide(documents, company.value, other);
      if (decision.kind === "refused") {
        await recordRefusal(deps, company_id, other.id, shared, decision.because);
        return null;
      }
      if (decision.loser !== company_id) return null;
    }
    if (!context.ownsKey()) return null;
    const { record } = company.value;
    const merged = withChange(company.value, record, "merged", [], clock.now(), other.id);
    if (
      !(await putCompany(
        documents,
        { ...merged, epoch: context.epoch, written_ms: clock.now() },
        company.version,
      ))
    )
      continue;
    if (shared === null) await recordByOperator(deps, company_id, other.id);
    else await removePending(documents, company_id, survivor);
    await deps.index.remove([company_id]).catch(() => {});
    await ask(Company, other.id, "aliasChanged", { company_id });
    await wakeFeed(ask);
    return other.id;
  }
  return null;
}

/** Replaces what was known of the two companies. */
async function recordByOperator({ documents, clock }: RefreshDeps, a: string, b: string): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  await COMPANY_EDGES.update(documents, edgeKey(a, b), () => ({
    value: { judgement: "positive", because: "operator", at },
  }));
}

/**
 * Undoes the merge of this company, in one write, and remembers that the two are not one. Answers the former survivor, which
 * the change feed informs, too; null: the company was not merged.
 */
export async function splitCompany({ deps, ask, company_id, context }: CompanyTask): Promise<string | null> {
  const { documents, clock } = deps;
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const { company } = await loadCompany(documents, company_id);
    const survivor = company.value?.merged_into ?? null;
    if (!company.value || survivor === null) return null;
    const at = new Date(clock.now()).toISOString();
    await COMPANY_EDGES.update(documents, edgeKey(company_id, survivor), () => ({
      value: { judgement: "negative", because: "operator", at },
    }));
    const { record } = company.value;
    const changed = withChange(company.value, record, "split", [], clock.now(), survivor);
    const split: StoredCompany = {
      ...changed,
      merged_into: null,
      epoch: context.epoch,
      written_ms: clock.now(),
    };
    if (!context.ownsKey() || !(await putCompany(documents, split, company.version))) continue;
    await ask(Company, survivor, "aliasChanged", { company_id });
    await announce({ deps, ask, company_id, context }, split);
    return survivor;
  }
  throw new Fault("document_contended", `Cannot store "${company_id}": other writers were always first`);
}

/**
 * Another company was merged into this one, or is its own again: the list of aliases follows the other's document, and the
 * record is resolved again. Repeating it changes nothing.
 */
export async function updateAlias(
  { deps, ask, company_id, context }: CompanyTask,
  alias_id: string,
): Promise<void> {
  const { documents, sources, clock } = deps;
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const { company, checks, people } = await loadCompany(documents, company_id);
    if (!company.value) return;
    const alias = (await loadCompany(documents, alias_id)).company.value;
    const isAlias = alias?.merged_into === company_id;
    const others = company.value.aliases.filter((id) => id !== alias_id && !alias?.aliases.includes(id));
    const aliases = isAlias ? [...others, alias_id, ...alias.aliases] : others;
    if (JSON.stringify(aliases) === JSON.stringify(company.value.aliases)) return;
    const merged = await loadAliases(documents, { aliases });
    const own = isAlias ? company.value.groups : withoutMerged(company.value.groups, merged);
    const stored = { ...company.value, aliases, groups: own };
    const persons = people.value?.groups ?? [];
    const knowledge = {
      groups: stored.groups,
      people: isAlias ? persons : withoutMerged(persons, merged),
      checks: checks.value ?? {},
    };
    const now_ms = clock.now();
    const resolved = materialise(stored, company_id, knowledge, merged, {
      sources,
      epoch: context.epoch,
      now_ms,
    });
    const next = resolved ?? stored;
    if (!context.ownsKey()) continue;
    if (knowledge.people.length < persons.length)
      await deps.people.store(company_id, knowledge.people, people.version);
    await forgetChecks(documents, company_id, [
      ...company.value.groups.filter((group) => !own.includes(group)),
      ...persons.filter((group) => !knowledge.people.includes(group)),
    ]);
    if (!(await putCompany(documents, next, company.version))) continue;
    await announce({ deps, ask, company_id, context }, next);
    return;
  }
}

/** Without what sources answered about a company that is not merged into this one any more. */
const withoutMerged = (
  groups: readonly StoredGroup[],
  merged: readonly StoredCompany[],
): readonly StoredGroup[] => {
  const known = new Set(merged.flatMap((company) => [...ownIdentifiersOf(company.groups)]));
  return groups.filter(({ asked_by }) => asked_by === undefined || known.has(asked_by));
};

async function forgetChecks(
  documents: Documents,
  company_id: string,
  groups: readonly StoredGroup[],
): Promise<void> {
  const keys = new Set(groups.map(({ source, group }) => checkKey(source, group)));
  if (keys.size === 0) return;
  await COMPANY_CHECKS.update(documents, company_id, (stored) => ({
    value: Object.fromEntries(Object.entries(stored ?? {}).filter(([key]) => !keys.has(key))),
  }));
}
