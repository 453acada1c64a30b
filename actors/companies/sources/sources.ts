/** All sources, in the order in which they are listed. A new source is one file here and one line. */
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
export const SOURCES: Readonly<Record<string, OpenSource>> = {
  gleif: openGleif,
  sec_edgar: openSecEdgar,
  zefix: openZefix,
  companies_house: openCompaniesHouse,
  brreg: openBrreg,
  prh: openPrh,
  recherche_entreprises: openRechercheEntreprises,
  krs: openKrs,
  northdata: openProfileSite,
};

/** The sources that have settings. */
export const openSources = (settings: Readonly<Record<string, SourceSettings>>): readonly Source[] =>
  Object.entries(SOURCES).flatMap(([name, open]) => {
    const own = settings[name];
    return own === undefined ? [] : [open(own)];
  });
