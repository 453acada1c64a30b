/** GLEIF's files as one source: its claims are those of GLEIF's API. */
import type { Json } from "../claim.ts";
import { claimList } from "../sources/claims.ts";
import {
  coreClaims,
  eventClaims,
  identifierClaims,
  precedenceOf,
  successorClaims,
} from "../sources/gleif.ts";
import { entityParty } from "../sources/values.ts";
import { entryOfClaims } from "./entry-of-claims.ts";
import { textAt, type Tuple } from "./import-kind.ts";
import { type ImportedSource, numberBefore, type PartGroup, secondOf } from "./imported-source.ts";
import { gleifLei, isWithdrawn, leiRecordOf } from "./kinds/gleif-lei.ts";
import {
  gleifBics,
  gleifExceptions,
  gleifIsins,
  gleifRelationships,
  parentReference,
} from "./kinds/gleif-links.ts";
import type { ImportedRow, ImportStore } from "./store.ts";

/** The largest issuers have thousands of ISINs, managers of funds thousands of children. */
const MAX_ISINS = 2_000;
const MAX_CHILDREN = 500;
const MAX_PARENTS = 50;
const PRECEDENCE = 60;

const tupleOf = ({ tuple }: ImportedRow): Tuple => JSON.parse(tuple) as Tuple;
const isStanding = ({ closed_ms }: ImportedRow): boolean => closed_ms === null;

async function childrenOf(store: ImportStore, lei: string): Promise<readonly ImportedRow[]> {
  const found = await store.find([parentReference(lei)]);
  return store.rows(
    gleifRelationships.name,
    found.slice(0, MAX_CHILDREN).map(({ key }) => key),
  );
}

async function read(store: ImportStore, lei: string) {
  const below = async (kind: string, limit: number): Promise<readonly ImportedRow[]> =>
    (await store.rowsBelow(kind, `${lei} `, limit)).filter(isStanding);
  const [parents, children, exceptions, isins, bics] = await Promise.all([
    below(gleifRelationships.name, MAX_PARENTS),
    childrenOf(store, lei),
    below(gleifExceptions.name, MAX_PARENTS),
    below(gleifIsins.name, MAX_ISINS),
    below(gleifBics.name, MAX_PARENTS),
  ]);
  const others = [
    ...parents.map(({ key }) => secondOf(key)),
    ...children.map(({ key }) => numberBefore(key)),
  ];
  const named = await store.rows(gleifLei.name, [...new Set(others)]);
  return { parents, children, exceptions, isins, bics, named };
}
type Parts = Awaited<ReturnType<typeof read>>;

/** The other company of a relationship, by its name where its row is there. */
function partyOf({ named }: Parts, lei: string): Json {
  const row = named.find(({ key }) => key === lei);
  const entity = row && leiRecordOf(lei, tupleOf(row)).attributes.entity;
  return entityParty({
    name: entity?.legalName.name ?? null,
    ref: `lei:${lei}`,
    country: entity?.legalAddress.country ?? null,
  });
}

const isCurrent = (tuple: Tuple): boolean => textAt(tuple, 2) === "1";

function relationshipsOf(parts: Parts): PartGroup {
  return {
    group: "relationships",
    precedence: PRECEDENCE,
    rows: [...parts.parents, ...parts.children.filter(isStanding)],
    claims(document, row) {
      const list = claimList(document);
      const tuple = tupleOf(row);
      const type = textAt(tuple, 0);
      const isOut = parts.parents.includes(row);
      // As GLEIF's API lists them: direct children only.
      if (!isOut && type !== "is_directly_consolidated_by") return [];
      const lei = isOut ? secondOf(row.key) : numberBefore(row.key);
      const status = textAt(tuple, 1);
      list.add("relationships", `${type}|${isOut ? "out" : "in"}|lei:${lei}`, {
        type,
        direction: isOut ? "out" : "in",
        party: partyOf(parts, lei),
        ...(isOut && {
          status: status === "ACTIVE" || status === "INACTIVE" ? status : null,
          periods: tuple.slice(4).map((period) => ({
            type: textAt(period as Tuple, 0),
            start: textAt(period as Tuple, 1) || null,
            end: textAt(period as Tuple, 2) || null,
          })),
          corroboration: textAt(tuple, 3) || null,
        }),
        current: isCurrent(tuple),
      });
      return list.claims;
    },
  };
}

const PARENTS: Readonly<Record<string, "ownership.direct_parent" | "ownership.ultimate_parent">> = {
  is_directly_consolidated_by: "ownership.direct_parent",
  is_ultimately_consolidated_by: "ownership.ultimate_parent",
};

const ownershipOf = (parts: Parts): PartGroup => ({
  group: "ownership",
  precedence: PRECEDENCE,
  rows: [...parts.parents, ...parts.exceptions],
  claims(document, row) {
    const list = claimList(document);
    const tuple = tupleOf(row);
    if (parts.exceptions.includes(row)) {
      const category = secondOf(row.key);
      const [reason, reference] = [textAt(tuple, 0), textAt(tuple, 1) || null];
      list.add("ownership.exceptions", category, { category, reason, reference });
    } else {
      const field = PARENTS[textAt(tuple, 0)];
      if (field !== undefined && isCurrent(tuple)) list.set(field, partyOf(parts, secondOf(row.key)));
    }
    return list.claims;
  },
});

const securitiesOf = ({ isins }: Parts): PartGroup => ({
  group: "securities",
  precedence: PRECEDENCE,
  rows: isins,
  claims(document, { key }) {
    const list = claimList(document);
    const isin = secondOf(key);
    list.add("securities", isin, { isin, status: "unknown" });
    return list.claims;
  },
});

const bicsOf = ({ bics }: Parts): PartGroup => ({
  group: "identifiers",
  precedence: PRECEDENCE,
  rows: bics,
  claims(document, { key }) {
    const list = claimList(document);
    list.identifier("bic", secondOf(key));
    return list.claims;
  },
});

export const importedGleif: ImportedSource = {
  source: "gleif",
  own_scheme: "lei",
  base: gleifLei,
  kinds: [gleifLei, gleifRelationships, gleifExceptions, gleifIsins, gleifBics],
  numberOf: numberBefore,
  isGone: isWithdrawn,
  groupsOf({ number, tuple, document }) {
    const record = leiRecordOf(number, tuple);
    const precedence = precedenceOf(record);
    const events = eventClaims(document, record);
    const successors = successorClaims(document, record);
    return [
      { group: "core", precedence, claims: coreClaims(document, record) },
      { group: "identifiers", precedence, claims: identifierClaims(document, record) },
      ...(events.length > 0 ? [{ group: "events", precedence: PRECEDENCE, claims: events } as const] : []),
      ...(successors.length > 0 ? [{ group: "relationships", precedence, claims: successors } as const] : []),
    ];
  },
  async partsOf(store, number) {
    const parts = await read(store, number);
    return [relationshipsOf(parts), ownershipOf(parts), securitiesOf(parts), bicsOf(parts)];
  },
  entryOf(id, number, tuple) {
    const document = { sha256: "" };
    const record = leiRecordOf(number, tuple);
    return entryOfClaims(id, [
      ...coreClaims(document as never, record),
      ...identifierClaims(document as never, record),
    ]);
  },
};
