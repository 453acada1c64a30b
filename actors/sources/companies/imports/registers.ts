/** Registers and lists whose files are imported. Their claims are those of the source's adapter. */
import type { FieldGroup } from "../../../../schemas/companies.ts";
import type { SourceClaim } from "../claim.ts";
import { type Entity, entityGroups } from "../sources/brreg.ts";
import { controllerClaims, deadlineClaims, numberClaims, profileClaims } from "../sources/companies-house.ts";
import { type FtmEntity, ftmGroups, openSanctions } from "../sources/opensanctions.ts";
import { type Company, companyGroups } from "../sources/prh.ts";
import { coreClaims, identifierClaims } from "../sources/recherche-entreprises.ts";
import type { RawDocument } from "../source.ts";
import { entryOfClaims } from "./entry-of-claims.ts";
import type { ImportKind, Tuple } from "./import-kind.ts";
import { type ImportedSource, numberBefore, type PartGroup, secondOf } from "./imported-source.ts";
import {
  companiesHouseBasic,
  companiesHouseControllers,
  controllerOf,
  profileOf,
} from "./kinds/companies-house.ts";
import { ftmEntities } from "./kinds/ftm.ts";
import { documentOf } from "./kinds/json-record.ts";
import { brregEntities, prhCompanies } from "./kinds/registers.ts";
import { seatOf, sireneSeats, sireneUnits, unitOf } from "./kinds/sirene.ts";
import type { ImportedRow, ImportStore } from "./store.ts";

/** The precedence of a home register. */
const PRECEDENCE = 100;
const MAX_PARTS = 500;

interface Register {
  readonly own_scheme: string;
  /** Default: of a home register. */
  readonly precedence?: number;
  readonly base: ImportKind;
  readonly parts?: readonly ImportKind[];
  readonly claimsOf: (
    document: RawDocument,
    row: { readonly number: string; readonly tuple: Tuple; readonly ended_on: string | null },
  ) => readonly { readonly group: FieldGroup; readonly claims: readonly SourceClaim[] }[];
  readonly partsOf?: (store: ImportStore, number: string) => Promise<readonly PartGroup[]>;
}

const importedRegister = ({
  own_scheme,
  precedence = PRECEDENCE,
  base,
  parts = [],
  claimsOf,
  partsOf,
}: Register): ImportedSource => ({
  source: base.source,
  own_scheme,
  base,
  kinds: [base, ...parts],
  numberOf: numberBefore,
  groupsOf: ({ document, ...row }) =>
    claimsOf(document, row)
      // An empty group of a company that has ended takes back what an earlier file stated.
      .filter(
        ({ group, claims }) =>
          group === "core" || group === "identifiers" || claims.length > 0 || row.ended_on !== null,
      )
      .map((each) => ({ ...each, precedence })),
  partsOf: partsOf ?? (async () => []),
  entryOf: (id, number, tuple, ended_on) =>
    entryOfClaims(
      id,
      claimsOf({ sha256: "" } as never, { number, tuple, ended_on }).flatMap(({ claims }) => claims),
    ),
});

const ENDED: SourceClaim = { field: "status", key: null, value: "dissolved", raw_sha256: "" };
/** Claims of the file about the company, and the claim that it has ended. */
const ended = (document: RawDocument, claims: readonly SourceClaim[]): readonly SourceClaim[] => [
  ...claims.filter(({ field }) => field !== "status"),
  { ...ENDED, raw_sha256: document.sha256 },
];

const tupleOf = ({ tuple }: ImportedRow): Tuple => JSON.parse(tuple) as Tuple;
const standing = async (
  store: ImportStore,
  kind: ImportKind,
  number: string,
): Promise<readonly ImportedRow[]> =>
  (await store.rowsBelow(kind.name, `${number} `, MAX_PARTS)).filter(({ closed_ms }) => closed_ms === null);

export const importedCompaniesHouse = importedRegister({
  own_scheme: "gb_coh",
  base: companiesHouseBasic,
  parts: [companiesHouseControllers],
  claimsOf: (document, { number, tuple, ended_on }) => [
    { group: "core", claims: profileClaims(document, profileOf(number, tuple, ended_on)) },
    { group: "identifiers", claims: numberClaims(document, number) },
    // Nothing is due of a company that has ended.
    {
      group: "events",
      claims: ended_on === null ? deadlineClaims(document, profileOf(number, tuple, null)) : [],
    },
  ],
  async partsOf(store, number) {
    const rows = await standing(store, companiesHouseControllers, number);
    return [
      {
        group: "ownership",
        precedence: PRECEDENCE,
        rows,
        // Natural persons are not imported.
        is_partial: true,
        claims: (document, row) => controllerClaims([{ document, item: controllerOf(tupleOf(row)) }]),
      },
    ];
  },
});

export const importedBrreg = importedRegister({
  own_scheme: "no_orgnr",
  base: brregEntities,
  claimsOf: (document, { tuple, ended_on }) =>
    entityGroups(document, documentOf(tuple) as Entity).map(({ group, claims }) => ({
      group,
      claims: group === "core" && ended_on !== null ? ended(document, claims) : claims,
    })),
});

export const importedPrh = importedRegister({
  own_scheme: "fi_ytunnus",
  base: prhCompanies,
  claimsOf: (document, { tuple }) => companyGroups(document, documentOf(tuple) as Company),
});

export const importedSirene = importedRegister({
  own_scheme: "fr_siren",
  base: sireneUnits,
  parts: [sireneSeats],
  claimsOf(document, { number, tuple }) {
    const unit = unitOf(number, tuple);
    return [
      { group: "core", claims: coreClaims(document, unit) },
      { group: "identifiers", claims: identifierClaims(document, unit) },
    ];
  },
  async partsOf(store, number) {
    const rows = await standing(store, sireneSeats, number);
    return [
      {
        group: "core",
        precedence: PRECEDENCE,
        rows,
        claims: (document, row) =>
          coreClaims(document, seatOf(number, secondOf(row.key), tupleOf(row))).filter(
            ({ field }) => field === "addresses" || field === "names.trading",
          ),
      },
    ];
  },
});

export const importedOpenSanctions = importedRegister({
  // No scheme of the catalogue: such a company is found by its other numbers, its name and its id.
  own_scheme: "opensanctions",
  precedence: openSanctions.description.groups.core!.precedence,
  base: ftmEntities,
  claimsOf: (document, { tuple }) => ftmGroups(document, documentOf(tuple) as FtmEntity),
});
