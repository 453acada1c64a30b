/**
 * The register as its callers use it: a company is found by its reference, refreshed by its actor when its data is too old
 * for the caller, and read. It decides nothing about claims.
 */
import type { ActorClient } from "../../../cluster/actor.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { Fault } from "../../../cluster/ports/fault.ts";
import {
  Company,
  type CompanyRefresh,
  type FieldGroup,
  type RefreshRequest,
} from "../../../schemas/companies.ts";
import { importedRecord, withImportedGroups } from "./imports/imported-record.ts";
import type { ImportedCompany, ImportedGroup, Imports } from "./imports/imported-company.ts";
import { type CompanyReference, findCompany, identifierOf } from "./references.ts";
import {
  isWanted,
  knownIdentifiers,
  ownReferencesOf,
  planRefresh,
  RECORD_GROUPS,
  type RefreshPlan,
  type RefreshScope,
} from "./refresh-plan.ts";
import type { Source } from "./source.ts";
import type { StoredGroup } from "./stored-claims.ts";
import {
  type Checks,
  COMPANY_CHECKS,
  COMPANY_PEOPLE,
  checkKey,
  type GroupCheck,
  loadAliases,
  loadCompany,
  type LoadedCompany,
  type StoredCompany,
} from "./stored-company.ts";

export interface ServiceDeps {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly ask: ActorClient;
  readonly sources: readonly Source[];
  readonly imports: Imports;
  /** Whether the key may be used for what costs money. Throws Fault. */
  readonly allowsPaid: (project: string, key: string) => Promise<boolean>;
  /** The cost of all attempts of a request, whichever run they were of. Throws Fault. */
  readonly spentBy: (request_id: string) => Promise<number>;
}

export interface GetOptions {
  readonly sources: readonly string[] | null;
  /** Groups beside those that every record has. */
  readonly groups: readonly FieldGroup[];
  readonly max_age_s: number | null;
  readonly refresh: boolean;
}

export interface CompanyCaller {
  readonly project: string;
  readonly lane: "sync" | "batch";
  /** Absent: sources that cost money are not asked for this caller. */
  readonly payer?: RefreshRequest["payer"];
}

/** With the last request for it, which was about the company whose group it is. */
export interface CheckedGroup extends StoredGroup {
  readonly check: GroupCheck | null;
}

/** A company as it is stored, with everything a view of it is made from. */
export interface CompanySnapshot {
  readonly company: StoredCompany;
  /** Its own groups, then those of each merged company. */
  readonly groups: readonly CheckedGroup[];
  /** Groups with claims about natural persons, in the same order. */
  readonly people: readonly CheckedGroup[];
  /** Checks of the company itself, and of merged ones for sources that were not asked about it. */
  readonly checks: Checks;
  readonly redirected_from: string | null;
  readonly refresh: readonly CompanyRefresh[];
  /** No source was asked for this answer. */
  readonly is_cached: boolean;
  /** The cost to the caller of the sources that were asked. */
  readonly cost_micros: number;
}

/** No source that answered knows the company; `refresh` lists the sources that failed. */
export interface UnknownCompany {
  readonly company: null;
  readonly refresh: readonly CompanyRefresh[];
}

export interface CompanyService {
  /** Throws Fault. */
  readonly get: (
    reference: Exclude<CompanyReference, { readonly kind: "wrong" }>,
    options: GetOptions,
    caller: CompanyCaller,
  ) => Promise<CompanySnapshot | UnknownCompany>;
}

/** Companies that merge while they are asked for. */
const MAX_HOPS = 4;
/** Longer than three rounds of sources take. */
const REFRESH_TIMEOUT_MS = 75_000;

/**
 * Sources that are not asked, and why: those that the caller names, and, of an identifier that no company has, those that would look it
 * up if the operator had turned them on.
 */
function notAsked(
  sources: readonly Source[],
  { sources: named, groups, pays }: Pick<RefreshScope, "sources" | "groups" | "pays">,
  scheme: string | null = null,
): readonly CompanyRefresh[] {
  return sources.flatMap(
    ({ description: { name, groups: own, is_paid = false, schemes }, inactive_because }) => {
      const isNamed =
        named?.includes(name) ?? (!is_paid && scheme !== null && schemes.lookup.includes(scheme));
      const error =
        inactive_because !== null
          ? "not_configured"
          : is_paid && !pays && named
            ? "paid_tier_required"
            : null;
      if (!isNamed || error === null) return [];
      return groups
        .filter((group) => own[group])
        .map((group): CompanyRefresh => ({
          source: name,
          group,
          result: "failed",
          error,
          retry_after_s: null,
          confirmed_at: null,
        }));
    },
  );
}

const withChecks = (groups: readonly StoredGroup[], checks: Checks): readonly CheckedGroup[] =>
  groups.map((group) => ({ ...group, check: checks[checkKey(group.source, group.group)] ?? null }));

const freshLines = ({ fresh }: Pick<RefreshPlan, "fresh">): readonly CompanyRefresh[] =>
  fresh.map(({ source, group, check }) => ({
    source,
    group,
    result: check.result === "ok" ? "fresh" : "failed",
    error: check.error,
    retry_after_s: null,
    confirmed_at: check.confirmed_ms === null ? null : new Date(check.confirmed_ms).toISOString(),
  }));

/** Lines of the groups that files have, as old as the files are. */
function importedLines(
  imported: readonly ImportedGroup[],
  checks: Checks,
  groups: readonly FieldGroup[],
): readonly CompanyRefresh[] {
  const checked = new Map(imported.map((each) => [checkKey(each.source, each.group), each]));
  const fresh = [...checked].flatMap(([key, { source, group }]) => {
    const check = checks[key];
    return check !== undefined && groups.includes(group) ? [{ source, group, check }] : [];
  });
  return freshLines({ fresh });
}

/**
 * A company that only imports know, as their files have it, however old they are; null: the caller wants what they do not have, or names an
 * age that they are beyond. Sources are not asked for its sake: three million companies would be asked one by one.
 */
function importedAnswer(
  { sources, clock }: ServiceDeps,
  company: ImportedCompany,
  wanted: RefreshScope,
  { groups, refresh, sources: named, max_age_s }: GetOptions,
): { readonly loaded: LoadedCompany; readonly refresh: readonly CompanyRefresh[] } | null {
  const now_ms = clock.now();
  const known = importedRecord(company, { sources, now_ms });
  if (known === null || refresh) return null;
  const has = new Set(company.groups.flatMap(({ group, is_partial }) => (is_partial ? [] : [group])));
  if (groups.some((group) => !has.has(group))) return null;
  const from = new Set(company.groups.map(({ source }) => source));
  if (named?.some((source) => !from.has(source))) return null;
  const answer = {
    loaded: {
      company: { value: known.company, version: 0 },
      checks: { value: known.checks, version: 0 },
      people: { value: null, version: 0 },
    },
    refresh: importedLines(company.groups, known.checks, wanted.groups),
  };
  if (max_age_s === null) return answer;
  const asked = sources.filter(({ description: { name } }) => from.has(name));
  const scope = { ...wanted, groups: wanted.groups.filter((group) => has.has(group)) };
  const identifiers = knownIdentifiers(known.company);
  const plan = planRefresh(asked, identifiers, known.checks, scope, now_ms);
  const isDue = plan.lookups.some(({ source: { description }, groups: due }) =>
    due.some((group) => known.checks[checkKey(description.name, group)] !== undefined),
  );
  return isDue ? null : answer;
}

export function companyService(deps: ServiceDeps): CompanyService {
  const { documents, clock, ask, sources, imports } = deps;
  /** With what imports know that is newer. */
  async function load(id: string): Promise<LoadedCompany> {
    const loaded = await loadCompany(documents, id);
    const company = loaded.company.value;
    if (company === null) return loaded;
    const groups = await imports.groupsOf(ownReferencesOf(company));
    if (groups.length === 0) return loaded;
    const aliases = await loadAliases(documents, company);
    return withImportedGroups(loaded, aliases, groups, { sources, now_ms: clock.now() });
  }

  async function snapshot(
    { company, checks, people }: LoadedCompany,
    refresh: readonly CompanyRefresh[],
    { is_cached, cost_micros }: Pick<CompanySnapshot, "is_cached" | "cost_micros">,
    redirected_from: string | null,
  ): Promise<CompanySnapshot | UnknownCompany> {
    if (!company.value) return { company: null, refresh };
    const aliases = await loadAliases(documents, company.value);
    const [aliasPeople, aliasChecks] = await Promise.all([
      COMPANY_PEOPLE.getMany(documents, company.value.aliases),
      COMPANY_CHECKS.getMany(documents, company.value.aliases),
    ]);
    const { aliases: alias_ids } = company.value;
    const checksOf = (id: string): Checks => aliasChecks[alias_ids.indexOf(id)] ?? {};
    const peopleOf = (at: number): readonly StoredGroup[] => aliasPeople[at]?.groups ?? [];
    return {
      company: company.value,
      groups: [
        ...withChecks(company.value.groups, checks.value ?? {}),
        ...aliases.flatMap(({ id, groups }) => withChecks(groups, checksOf(id))),
      ],
      people: [
        ...withChecks(people.value?.groups ?? [], checks.value ?? {}),
        ...alias_ids.flatMap((id, at) => withChecks(peopleOf(at), checksOf(id))),
      ],
      checks: Object.assign({}, ...aliasChecks, checks.value) as Checks,
      redirected_from,
      refresh,
      is_cached,
      cost_micros,
    };
  }

  return {
    async get(reference, options, { project, lane, payer }) {
      const found = await findCompany(documents, reference, clock.now(), imports);
      if (!found) return { company: null, refresh: [] };
      const isPaidWanted = sources.some(
        (source) => source.description.is_paid && isWanted(source, { sources: options.sources, pays: true }),
      );
      const pays = payer !== undefined && isPaidWanted && (await deps.allowsPaid(project, payer.key));
      const wanted: RefreshScope = {
        sources: options.sources,
        groups: [...RECORD_GROUPS, ...options.groups],
        max_age_s: options.max_age_s,
        force: options.refresh,
        pays,
      };
      const { redirected_from } = found;
      const skipped = notAsked(sources, wanted);
      const imported = found.imported && importedAnswer(deps, found.imported, wanted, options);
      if (imported)
        return snapshot(
          imported.loaded,
          [...imported.refresh, ...skipped],
          { is_cached: true, cost_micros: 0 },
          redirected_from,
        );
      if (found.isStored) {
        const loaded = await load(found.id);
        const { aliases } = loaded.company.value!;
        const identifiers = [
          ...knownIdentifiers(loaded.company.value!),
          ...(found.reference === null
            ? []
            : [{ ...identifierOf(found.reference), is_own: aliases.length === 0 }]),
        ];
        const plan = planRefresh(sources, identifiers, loaded.checks.value ?? {}, wanted, clock.now());
        const lines = freshLines(plan);
        if (plan.lookups.length === 0)
          return snapshot(
            loaded,
            [...lines, ...skipped],
            { is_cached: true, cost_micros: 0 },
            redirected_from,
          );
      }
      let id = found.id;
      let cost_micros = 0;
      for (let hop = 0; hop < MAX_HOPS; hop++) {
        const { sources: names, groups, max_age_s, force } = wanted;
        const answer = await ask(
          Company,
          id,
          "refresh",
          {
            reference: found.reference,
            sources: names === null ? null : [...names],
            groups: [...groups],
            max_age_s,
            force: force && hop === 0,
            project,
            lane,
            ...(pays && { payer }),
            ...(payer !== undefined && { work_id: payer.request_id }),
          },
          { timeout_ms: REFRESH_TIMEOUT_MS },
        );
        // A run whose node died after it had paid may have been repeated for nothing.
        const spent_micros = pays ? await deps.spentBy(payer.request_id) : 0;
        cost_micros = Math.max(cost_micros + (answer.cost_micros ?? 0), spent_micros);
        if (answer.kind === "unknown") {
          const scheme = found.reference === null ? null : identifierOf(found.reference).scheme;
          return { company: null, refresh: [...answer.refresh, ...notAsked(sources, wanted, scheme)] };
        }
        id = answer.company_id;
        if (answer.kind === "elsewhere") continue;
        return snapshot(
          await load(id),
          [...answer.refresh, ...skipped],
          { is_cached: false, cost_micros },
          redirected_from,
        );
      }
      throw new Fault("no_answer", `Cannot read "${id}": it is merged again and again`);
    },
  };
}
