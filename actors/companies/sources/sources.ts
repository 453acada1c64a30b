/** All sources, in the order in which they are listed. A new source is one file here and one line; the compiler asks for its settings. */
import type { OpenSource, Source, SourceSettings } from "../source.ts";
import { openBrreg } from "./brreg.ts";
import { openCompaniesHouse } from "./companies-house.ts";
import { openGleif } from "./gleif.ts";
import { openKrs } from "./krs.ts";
import { openPrh } from "./prh.ts";
import { openProfileSite } from "./profile-site.ts";
import { openRechercheEntreprises } from "./recherche-entreprises.ts";
import { openSecEdgar } from "./sec-edgar.ts";
import { openZefix } from "./zefix.ts";

/** By the name of the source. */
export const SOURCES = {
  gleif: openGleif,
  sec_edgar: openSecEdgar,
  zefix: openZefix,
  companies_house: openCompaniesHouse,
  brreg: openBrreg,
  prh: openPrh,
  recherche_entreprises: openRechercheEntreprises,
  krs: openKrs,
  northdata: openProfileSite,
} as const satisfies Readonly<Record<string, OpenSource>>;

export type SourceName = keyof typeof SOURCES;

/** All sources: a source without settings does not compile. */
export const openSources = (settings: Readonly<Record<SourceName, SourceSettings>>): readonly Source[] =>
  (Object.keys(SOURCES) as SourceName[]).map((name) => SOURCES[name](settings[name]));
