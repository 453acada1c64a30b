/**
 * The knowledge of imports about a company: the rows of its files as claims, worked out when they are read. A company of which nothing else is
 * stored has the id that its number at the source gives, so that it is the same after any import.
 */
import { LRUCache } from "lru-cache";
import type { Knowledge } from "../apply-answers.ts";
import { isStrong } from "../merging.ts";
import { identifierOf } from "../references.ts";
import type { SourceClaim } from "../claim.ts";
import type { RawDocument } from "../source.ts";
import { afterObservation, digestId, type StoredGroup } from "../stored-claims.ts";
import { type Checks, checkKey } from "../stored-company.ts";
import type { ImportedSource, PartGroup } from "./imported-source.ts";
import type { ImportKind, Tuple } from "./import-kind.ts";
import { lastWholeMs, runsOf } from "./run-import.ts";
import type { ImportedRow, ImportRun, ImportStore } from "./store.ts";
import { iso } from "../../../lib/iso.ts";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { CompanyEntry } from "./entry.ts";
import type {
  EntryChanges,
  ImportedChange,
  ImportedCompany,
  ImportedGroup,
  Imports,
} from "./imported-company.ts";

interface Subject {
  readonly source: ImportedSource;
  readonly number: string;
  readonly row: ImportedRow;
}

const ENTRIES_AT_ONCE = 1_000;
/** The last whole file of a kind is another when one was imported. */
const RUNS_VALID_MS = 5_000;
/** Runs in memory: deltas of some years. */
const KNOWN_RUNS = 1_000;

const ownReference = ({ source, number }: Pick<Subject, "source" | "number">): string =>
  `${source.own_scheme}:${number}`;

/** The id of a company that only imports know. */
export const importedId = (own_reference: string): string => `cmp_${digestId(own_reference, 16)}`;

/** References stored beside a row so that it is found by them; its own number is left out, because it is the row's key. */
export function storedReferences(sources: readonly ImportedSource[]) {
  return (kind: ImportKind, key: string, tuple: Tuple): readonly string[] => {
    const source = sources.find(({ base }) => base === kind);
    const own = source === undefined ? null : `${source.own_scheme}:${key}`;
    const others = kind.referencesOf(key, tuple).filter((reference) => reference !== own);
    return own === null ? others : [importedId(own), ...others];
  };
}

interface ImportsDeps {
  readonly store: ImportStore;
  readonly sources: readonly ImportedSource[];
  readonly clock: Pick<Clock, "now">;
}

/** The runs by their numbers. What is read of one here is written when it begins and never again. */
function runBook({ store, clock }: Pick<ImportsDeps, "store" | "clock">) {
  const known = new LRUCache<number, ImportRun>({ max: KNOWN_RUNS });
  let hasAny = false;

  async function isEmpty(): Promise<boolean> {
    if (!hasAny) hasAny = (await store.runs(1)).length > 0;
    return !hasAny;
  }

  async function get(number: number): Promise<ImportRun> {
    const run = known.get(number) ?? (await store.run(number))!;
    known.set(number, run);
    return run;
  }

  const wholes = new Map<string, { readonly publish_ms: number; readonly at_ms: number }>();
  async function lastWhole(kind: string): Promise<number> {
    const now_ms = clock.now();
    const known_whole = wholes.get(kind);
    if (known_whole && now_ms - known_whole.at_ms < RUNS_VALID_MS) return known_whole.publish_ms;
    const publish_ms = lastWholeMs(await runsOf(store, kind));
    wholes.set(kind, { publish_ms, at_ms: now_ms });
    return publish_ms;
  }
  return { isEmpty, get, lastWhole };
}

/** A company that was dissolved is still known; of what the source withdrew nothing is. */
const isStanding = ({ base }: ImportedSource, { closed_ms }: ImportedRow): boolean =>
  closed_ms === null || base.absence === "dissolved";

const endedOn = ({ closed_ms }: ImportedRow): string | null =>
  closed_ms === null ? null : iso(closed_ms).slice(0, 10);

/** Which companies of the sources have an identifier, and which of them are one company. */
function subjectFinder({ store, sources }: Pick<ImportsDeps, "store" | "sources">) {
  const subjectOf = async (source: ImportedSource, number: string): Promise<Subject | null> => {
    const [row] = await store.rows(source.base.name, [number]);
    return row !== undefined && isStanding(source, row) ? { source, number, row } : null;
  };

  /** The companies of each source that have one of these identifiers. `known`: one that was read before. */
  async function subjectsOf(references: readonly string[], known?: Subject): Promise<readonly Subject[]> {
    const found = new Map<string, Subject>();
    const add = async (source: ImportedSource, number: string): Promise<void> => {
      const key = `${source.source} ${number}`;
      if (found.has(key)) return;
      if (known?.source === source && known.number === number) {
        found.set(key, known);
        return;
      }
      const subject = await subjectOf(source, number);
      if (subject) found.set(key, subject);
    };
    for (const reference of references) {
      const { scheme, value } = identifierOf(reference);
      for (const source of sources) if (source.own_scheme === scheme) await add(source, value);
    }
    for (const { kind, key } of await store.find(references)) {
      const source = sources.find(({ kinds }) => kinds.some(({ name }) => name === kind));
      if (source) await add(source, source.numberOf(key));
    }
    return [...found.values()];
  }

  /** The company of the subject at every source that has it, in the order of the sources. */
  async function membersOf(subject: Subject): Promise<readonly Subject[]> {
    const others: Subject[] = [];
    const found = await subjectsOf(strongOf(subject), subject);
    for (const other of onlyOnes(found.filter(({ source }) => source !== subject.source))) {
      const back = (await subjectsOf(strongOf(other))).filter(({ source }) => source === subject.source);
      if (back.length === 1) others.push(other);
    }
    const order = (each: Subject): number => sources.indexOf(each.source);
    return [subject, ...others].toSorted((a, b) => order(a) - order(b));
  }

  return { subjectsOf, membersOf };
}

const strongOf = ({ source, number, row }: Subject): readonly string[] => [
  ownReference({ source, number }),
  ...source.base
    .referencesOf(number, tupleOf(row))
    .filter((reference) => isStrong(identifierOf(reference).scheme)),
];

/** An identifier that several companies of one source have means none of them. */
const onlyOnes = (subjects: readonly Subject[]): readonly Subject[] =>
  subjects.filter((subject) => subjects.filter(({ source }) => source === subject.source).length === 1);

/** Reads the rows of one company at one source as groups of claims. */
function groupReader({ store }: Pick<ImportsDeps, "store">, runs: ReturnType<typeof runBook>) {
  const documentOf = (run: ImportRun, { line, offset }: ImportedRow): RawDocument => ({
    url: line === 0 ? run.origin : `${run.origin}#row=${line}&offset=${offset}`,
    retrieved_at: iso(run.started_ms),
    sha256: run.sha256,
    bytes: run.bytes,
    content_type: null,
    is_import: true,
  });

  async function groupsOfSubject({ source, number, row }: Subject): Promise<readonly ImportedGroup[]> {
    const groups: ImportedGroup[] = [];
    for (const version of [...(await store.earlier(source.base.name, number)), row]) {
      const run = await runs.get(version.run);
      const { publish_ms } = run;
      const confirmed_ms =
        version === row ? Math.max(publish_ms, await runs.lastWhole(run.kind)) : publish_ms;
      const document = documentOf(run, version);
      const tuple = JSON.parse(version.tuple) as Tuple;
      for (const group of source.groupsOf({ number, tuple, document, ended_on: endedOn(version) }))
        groups.push({
          source: source.source,
          native_id: number,
          documents: [document],
          at_ms: publish_ms,
          confirmed_ms,
          ...group,
        });
    }
    for (const part of await source.partsOf(store, number))
      await addPart(groups, source.source, number, part);
    return groups;
  }

  /** To the last version of the company's own row, so that both are one answer of the source. */
  async function addPart(
    groups: ImportedGroup[],
    source: string,
    native_id: string,
    { group, precedence, rows, claims: claimsOf, is_partial }: PartGroup,
  ): Promise<void> {
    if (rows.length === 0) return;
    const documents = new Map<string, RawDocument>();
    const claims: SourceClaim[] = [];
    let at_ms = 0;
    for (const row of rows) {
      const run = await runs.get(row.run);
      const document = documents.get(run.sha256) ?? documentOf(run, row);
      documents.set(run.sha256, document);
      claims.push(...claimsOf(document, row));
      at_ms = Math.max(at_ms, run.publish_ms);
    }
    const last = is_partial ? -1 : groups.findLastIndex((each) => each.group === group);
    const own = groups[last];
    if (own === undefined)
      groups.push({
        source,
        native_id,
        group,
        precedence,
        documents: [...documents.values()],
        claims,
        at_ms,
        confirmed_ms: at_ms,
        ...(is_partial && { is_partial }),
      });
    else
      groups[last] = {
        ...own,
        documents: [...own.documents, ...documents.values()],
        claims: [...own.claims, ...claims],
        at_ms: Math.max(own.at_ms, at_ms),
      };
  }

  return groupsOfSubject;
}

/** Top-level fields of the record in which a row of a company differs from the row before it. */
function fieldsThatDiffer(
  { source, number }: Subject,
  before: ImportedRow | null,
  after: ImportedRow | null,
) {
  const stated = (row: ImportedRow | null): ReadonlyMap<string, string> => {
    const fields = new Map<string, string>();
    const groups =
      row === null
        ? []
        : source.groupsOf({ number, tuple: tupleOf(row), document: NO_DOCUMENT, ended_on: endedOn(row) });
    for (const { claims } of groups)
      for (const { field, key, value } of claims) {
        const top = field.split(".", 1)[0]!;
        fields.set(top, `${fields.get(top) ?? ""}${JSON.stringify([field, key, value])}`);
      }
    return fields;
  };
  const [old, now] = [stated(before), stated(after)];
  return [...new Set([...old.keys(), ...now.keys()])].filter((field) => old.get(field) !== now.get(field));
}

const NO_DOCUMENT: RawDocument = {
  url: "",
  retrieved_at: "",
  sha256: "",
  bytes: 0,
  content_type: null,
  is_import: true,
};

/** How the rows that an import wrote changed their companies, one change for each company. */
function changeReader({ store, sources }: ImportsDeps, { membersOf }: ReturnType<typeof subjectFinder>) {
  async function changeOf({ source, number, row }: Subject, kind: ImportKind): Promise<ImportedChange> {
    const isOwnRow = kind === source.base;
    const isGone = !isStanding(source, row) || (source.isGone?.(tupleOf(row)) ?? false);
    const members = isStanding(source, row)
      ? await membersOf({ source, number, row })
      : [{ source, number, row }];
    const earlier = await Promise.all(
      members.map((member) => store.earlier(member.source.base.name, member.number)),
    );
    const own = earlier[members.findIndex((member) => member.source === source)]!;
    const before = isOwnRow ? (own.at(-1) ?? null) : row;
    const others = members.length - 1;
    const isNew = isOwnRow && before === null && others === 0;
    const countries = [before, row].flatMap((version) =>
      version === null ? [] : (source.entryOf("", number, tupleOf(version), endedOn(version)).country ?? []),
    );
    return {
      company_id: importedId(ownReference(members[0]!)),
      type: isOwnRow && isGone && others === 0 ? "deleted" : isNew ? "created" : "updated",
      fields: isOwnRow
        ? fieldsThatDiffer({ source, number, row }, before, isGone ? null : row)
        : (kind.fields ?? []),
      version: members.length + earlier.reduce((sum, versions) => sum + versions.length, 0),
      countries: [...new Set(countries)],
      identifiers: members.flatMap(strongOf),
    };
  }

  return async (kind: ImportKind, rows: readonly ImportedRow[]): Promise<readonly ImportedChange[]> => {
    const source = sources.find(({ kinds }) => kinds.includes(kind));
    if (!source || rows.length === 0) return [];
    const numbers = [...new Set(rows.map(({ key }) => source.numberOf(key)))];
    const found = await store.rows(source.base.name, numbers);
    const changes = await Promise.all(found.map((row) => changeOf({ source, number: row.key, row }, kind)));
    // Two rows of one company, as of a relationship, are one change.
    return [...new Map(changes.map((change) => [change.company_id, change])).values()];
  };
}

export function openImports(deps: ImportsDeps): Imports {
  const { store, sources } = deps;
  const finder = subjectFinder(deps);
  const { subjectsOf, membersOf } = finder;
  const runs = runBook(deps);
  const groupsOfSubject = groupReader(deps, runs);
  const { isEmpty } = runs;

  async function companyOf(subject: Subject): Promise<ImportedCompany> {
    const members = await membersOf(subject);
    const [first] = members;
    const groups = (await Promise.all(members.map(groupsOfSubject))).flat();
    const references = [...new Set(members.flatMap(strongOf))];
    const isKnown = (reference: string): boolean => isStrong(identifierOf(reference).scheme);
    return {
      id: importedId(ownReference(first!)),
      reference: references.find(isKnown) ?? ownReference(first!),
      references,
      groups,
    };
  }

  /** Answers an entry for each company, whichever of its rows the company was found by. */
  async function changesOf(subjects: readonly Subject[]): Promise<EntryChanges> {
    const entries = new Map<string, CompanyEntry>();
    const removed = new Set<string>();
    let claims = 0;
    await Promise.all(
      subjects.map(async (subject) => {
        const members = await membersOf(subject);
        const [id, ...others] = members.map((member) => importedId(ownReference(member)));
        for (const other of others) removed.add(other);
        const made = members.map((member) => entryOf(id!, member));
        claims += made[members.indexOf(subject)]!.claims ?? 0;
        const found = made.filter((_, at) => !members[at]!.source.isGone?.(tupleOf(members[at]!.row)));
        if (found.length === 0) removed.add(id!);
        else entries.set(id!, mergedEntry(found));
      }),
    );
    return { entries: [...entries.values()], removed: [...removed], claims };
  }

  return {
    async company(reference) {
      const [subject] = (await isEmpty()) ? [] : await subjectsOf([reference]);
      return subject === undefined ? null : companyOf(subject);
    },
    async groupsOf(references) {
      const isOwn = (scheme: string): boolean => sources.some(({ own_scheme }) => own_scheme === scheme);
      const strong = references.filter((reference) => {
        const { scheme } = identifierOf(reference);
        return isStrong(scheme) || isOwn(scheme);
      });
      if (strong.length === 0 || (await isEmpty())) return [];
      const found = await subjectsOf(strong);
      // A number at the source itself is the company's, whatever else leads to another one.
      const own = found.filter((subject) => strong.includes(ownReference(subject)));
      const others = found.filter(({ source }) => !own.some((each) => each.source === source));
      const members = [...onlyOnes(own), ...onlyOnes(others)];
      return (await Promise.all(members.map(groupsOfSubject))).flat();
    },
    async *entriesOf(name, from) {
      const source = sources.find((each) => each.source === name);
      if (!source) return;
      // The key before the first one: scanning begins behind it.
      for (let after = from === "" ? "" : from.slice(0, -1); ;) {
        const rows = await store.scan(source.base.name, after, ENTRIES_AT_ONCE);
        if (rows.length === 0) return;
        after = rows.at(-1)!.key;
        const wanted = rows.filter((row) => row.key >= from && isStanding(source, row));
        yield (await changesOf(wanted.map((row) => ({ source, number: row.key, row })))).entries;
      }
    },
    changesOfRows: changeReader(deps, finder),
    async entriesAfter(name, number, limit) {
      const source = sources.find((each) => each.source === name);
      const rows = source === undefined ? [] : await store.scan(source.base.name, number, limit);
      const last = rows.length < limit ? null : rows.at(-1)!.key;
      if (source === undefined) return { entries: [], last };
      const standing = rows.filter((row) => isStanding(source, row));
      const { entries } = await changesOf(standing.map((row) => ({ source, number: row.key, row })));
      // A company of several sources has the id of its number at the first one, and is listed there.
      const isListedHere = ({ id, identifiers }: CompanyEntry): boolean =>
        identifiers.some(
          (reference) => identifierOf(reference).scheme === source.own_scheme && importedId(reference) === id,
        );
      return { entries: entries.filter(isListedHere), last };
    },
    async entriesOfRows(kind, rows) {
      const source = sources.find(({ kinds }) => kinds.includes(kind));
      if (!source) return { entries: [], removed: [], claims: 0 };
      const numbers = [...new Set(rows.map(({ key }) => source.numberOf(key)))];
      const found = (await store.rows(source.base.name, numbers)).map((row): Subject => ({
        source,
        number: row.key,
        row,
      }));
      const standing = found.filter(({ row }) => isStanding(source, row));
      const gone = found.filter(({ row }) => !isStanding(source, row));
      // Another source may still have the company, under the id of its number there.
      const left = await Promise.all(gone.map((subject) => subjectsOf(strongOf(subject))));
      const { entries, removed, claims } = await changesOf([...standing, ...left.flat()]);
      const ids = new Set([...removed, ...gone.map((subject) => importedId(ownReference(subject)))]);
      for (const { id } of entries) ids.delete(id);
      // A row of another kind states one thing of a company.
      return { entries, removed: [...ids], claims: kind === source.base ? claims : rows.length };
    },
  };
}

const tupleOf = ({ tuple }: ImportedRow): Tuple => JSON.parse(tuple) as Tuple;

const entryOf = (id: string, { source, number, row }: Subject): CompanyEntry =>
  source.entryOf(id, number, tupleOf(row), endedOn(row));

/** Values of the first source that has them, with the names and numbers of all sources. */
function mergedEntry(entries: readonly CompanyEntry[]): CompanyEntry {
  const { claims: _claims, ...first } = Object.assign({}, ...entries.toReversed()) as CompanyEntry;
  return {
    ...first,
    names: [...new Set(entries.flatMap(({ names }) => names))],
    identifiers: [...new Set(entries.flatMap(({ identifiers }) => identifiers))],
  };
}

/** With what imports know, where it is newer than what a source answered. */
export function withImported<K extends Pick<Knowledge, "groups" | "checks">>(
  company_id: string,
  knowledge: K,
  imported: readonly ImportedGroup[],
): K {
  let groups: readonly StoredGroup[] = knowledge.groups;
  const checks: Record<string, Checks[string]> = { ...knowledge.checks };
  for (const each of imported) {
    const { source, group, documents, claims, at_ms, confirmed_ms, native_id, precedence, is_partial } = each;
    const key = checkKey(source, group);
    const check = checks[key];
    const place = groups.findIndex((stored) => stored.source === source && stored.group === group);
    const previous = groups[place] ?? null;
    if (previous !== null && (check?.confirmed_ms ?? Infinity) > at_ms) continue;
    const observation = {
      company_id,
      source,
      group,
      native_id,
      precedence,
      documents,
      claims,
      is_complete: !is_partial,
      at_ms,
    };
    const next = afterObservation(previous, observation, check?.confirmed_ms ?? at_ms);
    if (next.claims.length > 0) groups = place < 0 ? [...groups, next] : groups.with(place, next);
    if (is_partial) continue;
    checks[key] = {
      checked_ms: confirmed_ms,
      confirmed_ms,
      result: "ok",
      error: null,
      retry_at_ms: null,
      documents,
    };
  }
  return { ...knowledge, groups, checks };
}
