/**
 * INSEE's stock files of Sirene, from which the French search of companies is made: legal units, and their establishments, of which only seats are
 * imported. Both are CSV.
 *
 * Peculiarities of the files:
 * - A legal unit has no address: its seat has.
 * - `[ND]` is withheld. Natural persons (legal category 1000) are not imported.
 */
import {
  type Company,
  identifierClaims,
  RECHERCHE_ENTREPRISES,
} from "../../sources/recherche-entreprises.ts";
import { identifierReferences } from "../identifier-references.ts";
import { type CsvKind, KEY_SEPARATOR, type ReadRecord, textAt, trimmed, type Tuple } from "../import-kind.ts";
import { reading, type ValueOf } from "./csv-values.ts";
import { canonicalNumber } from "./registers.ts";

const WITHHELD = "[ND]";
const SOLE_PROPRIETORS = "1000";
/** The nomenclature of codes in `naf2`. */
const NAF2 = "NAFRev2";

const shown =
  (value: ValueOf): ValueOf =>
  (column) => {
    const text = value(column);
    return text === WITHHELD ? "" : text;
  };

/** The places of a legal unit's tuple. */
const UNIT = {
  name: 0,
  short_name: 1,
  state: 2,
  form: 3,
  activity: 4,
  employees: 5,
  employees_year: 6,
  size: 7,
  created: 8,
  closed: 9,
  seat: 10,
  trading_name: 11,
} as const;

function unitRow(written: ValueOf): ReadRecord {
  const value = shown(written);
  const key = canonicalNumber("fr_siren", value("siren"));
  if (key === null) return { kind: "bad", reason: "fr_siren" };
  const form = value("categorieJuridiqueUniteLegale");
  const name = value("denominationUniteLegale");
  if (form === SOLE_PROPRIETORS || name === "" || value("unitePurgeeUniteLegale") === "true")
    return { kind: "skipped" };
  const state = value("etatAdministratifUniteLegale");
  const tuple = [
    name,
    value("sigleUniteLegale"),
    state,
    form,
    value("nomenclatureActivitePrincipaleUniteLegale") === NAF2 ? value("activitePrincipaleUniteLegale") : "",
    value("trancheEffectifsUniteLegale"),
    value("anneeEffectifsUniteLegale"),
    value("categorieEntreprise"),
    value("dateCreationUniteLegale"),
    // The last period of a unit that ceased began on the day it ceased.
    state === "C" ? value("dateDebut") : "",
    value("nicSiegeUniteLegale"),
    value("denominationUsuelle1UniteLegale"),
  ];
  return { kind: "row", key, tuple: trimmed(tuple) };
}

/** The row in the form of the API's results. */
export function unitOf(siren: string, tuple: Tuple): Company {
  const at = (place: number): string | null => textAt(tuple, place) || null;
  const nic = at(UNIT.seat);
  return {
    siren,
    nom_complet: at(UNIT.name),
    nom_raison_sociale: at(UNIT.name),
    sigle: at(UNIT.short_name),
    siege: nic === null ? null : { siret: `${siren}${nic}`, nom_commercial: at(UNIT.trading_name) },
    activite_principale: at(UNIT.activity),
    categorie_entreprise: at(UNIT.size),
    date_creation: at(UNIT.created),
    date_fermeture: at(UNIT.closed),
    etat_administratif: at(UNIT.state),
    nature_juridique: at(UNIT.form),
    tranche_effectif_salarie: at(UNIT.employees),
    annee_tranche_effectif_salarie: at(UNIT.employees_year),
  };
}

/** The places of a seat's tuple, with the API's names. */
const SEAT = {
  numero_voie: "numeroVoieEtablissement",
  indice_repetition: "indiceRepetitionEtablissement",
  type_voie: "typeVoieEtablissement",
  libelle_voie: "libelleVoieEtablissement",
  code_postal: "codePostalEtablissement",
  libelle_commune: "libelleCommuneEtablissement",
  code_pays_etranger: "codePaysEtrangerEtablissement",
  nom_commercial: "denominationUsuelleEtablissement",
} as const;

function seatRow(written: ValueOf): ReadRecord {
  const value = shown(written);
  if (value("etablissementSiege") !== "true") return { kind: "skipped" };
  const siren = canonicalNumber("fr_siren", value("siren"));
  if (siren === null) return { kind: "bad", reason: "fr_siren" };
  const tuple = Object.values(SEAT).map(value);
  return { kind: "row", key: [siren, value("nic")].join(KEY_SEPARATOR), tuple: trimmed(tuple) };
}

/** The row in the form of the API's results: a company of which only the seat is known. */
export function seatOf(siren: string, nic: string, tuple: Tuple): Company {
  const parts = Object.keys(SEAT).map((name, place) => [name, textAt(tuple, place) || null]);
  return { siren, siege: { siret: `${siren}${nic}`, ...(Object.fromEntries(parts) as object) } };
}

const isChange = (before: Tuple, after: Tuple): boolean => JSON.stringify(before) !== JSON.stringify(after);
const COMMON = {
  source: "recherche_entreprises",
  layout: 1,
  format: "csv",
  absence: "closed",
  licence: RECHERCHE_ENTREPRISES.licence,
  isChange,
} as const;
const NO_FILE = { sha256: "" } as never;

export const sireneUnits: CsvKind = {
  ...COMMON,
  name: "recherche_entreprises",
  title: "INSEE, Sirene: legal units (StockUniteLegale)",
  required: ["siren", "denominationUniteLegale", "categorieJuridiqueUniteLegale"],
  referencesOf: (siren, tuple) => identifierReferences(identifierClaims(NO_FILE, unitOf(siren, tuple))),
  read: reading(unitRow),
};

export const sireneSeats: CsvKind = {
  ...COMMON,
  name: "recherche_entreprises_seats",
  title: "INSEE, Sirene: seats among all establishments (StockEtablissement)",
  required: ["siren", "nic", "etablissementSiege", "codePostalEtablissement"],
  referencesOf: () => [],
  read: reading(seatRow),
};
