/**
 * Legal forms in names, by country: `GmbH & Co. KG`, `Sp. z o.o.`, `S.A. de C.V.`. They are removed before names are
 * compared, and give the category of the form. Words that carry meaning stay in the name: bank, group, holding, fund,
 * foundation, trust, association.
 */
import { foldName } from "./fold.ts";
import { spellingSimilarity } from "./similarity.ts";

/** A category of company/v1. */
export type LegalFormCategory =
  | "public_limited"
  | "private_limited"
  | "general_partnership"
  | "limited_partnership"
  | "cooperative"
  | "foundation"
  | "association"
  | "sole_proprietor"
  | "fund"
  | "government"
  | "european_company";

/** The countries a form stands for (`*`: used in several), its category (null: the form leaves it open), its spellings. */
type Row = readonly [countries: string, category: LegalFormCategory | null, spellings: string];

/** Spellings are separated by `|`; they are folded when the table is read. */
const FORMS: readonly Row[] = [
  ["*", null, "Company|Co.|Corporation|Corp.|Incorporated|Inc.|and Co.|and Company|The"],
  ["*", "private_limited", "Limited|Ltd.|Limited Company|Ltd. Co.|Private Limited Company|Private Ltd."],
  ["*", "public_limited", "PLC|Public Limited Company|P.L.C|Joint Stock Company|JSC|Public Company"],
  ["*", "limited_partnership", "LP|L P|Limited Partnership|Ltd. Partnership"],
  ["*", "limited_partnership", "LLP|L L P|Limited Liability Partnership|LLLP"],
  ["*", "general_partnership", "General Partnership"],
  ["*", "cooperative", "Cooperative|Co-operative|Coop|Cooperative Society"],
  ["*", "european_company", "SE|Societas Europaea|SCE"],
  [
    "US CA",
    null,
    "Corp.|PC|P C|Professional Corporation|Ltée|Limitée|Inc. Ltd.|ULC|Unlimited Liability Company",
  ],
  ["US", "private_limited", "LLC|L L C|Limited Liability Company|Limited Liability Co.|PLLC|LC|L C"],
  ["US", "limited_partnership", "RLLP"],
  [
    "GB IE",
    "private_limited",
    "CIC|Community Interest Company|DAC|Designated Activity Company|Teoranta|Teo|Cyfyngedig|Cyf.",
  ],
  ["GB IE", "private_limited", "Company Limited by Guarantee|CLG|UC|Unlimited Company"],
  ["GB IE", "public_limited", "CCC|Cwmni Cyfyngedig Cyhoeddus|CPT"],
  [
    "DE AT CH LI",
    "private_limited",
    "GmbH|G.m.b.H.|mbH|Gesellschaft mit beschränkter Haftung|Ges.m.b.H.|gGmbH",
  ],
  [
    "DE",
    "private_limited",
    "UG|UG (haftungsbeschränkt)|Unternehmergesellschaft|Unternehmergesellschaft (haftungsbeschränkt)",
  ],
  ["AT", "private_limited", "FlexCo|Flexible Kapitalgesellschaft|FlexKapG"],
  ["DE AT CH LI", "public_limited", "AG|Aktiengesellschaft|Akt.-Ges.|A.-G."],
  [
    "DE",
    "public_limited",
    "KGaA|Kommanditgesellschaft auf Aktien|GmbH & Co. KGaA|AG & Co. KGaA|SE & Co. KGaA",
  ],
  [
    "DE AT",
    "limited_partnership",
    "KG|Kommanditgesellschaft|GmbH & Co. KG|GmbH & Co.|GmbH & Compagnie KG|mbH & Co. KG",
  ],
  [
    "DE AT",
    "limited_partnership",
    "AG & Co. KG|SE & Co. KG|UG & Co. KG|UG (haftungsbeschränkt) & Co. KG|& Co. KG|Ltd. & Co. KG",
  ],
  [
    "DE AT CH",
    "general_partnership",
    "OHG|oHG|OG|Offene Handelsgesellschaft|Offene Gesellschaft|GbR|eGbR|GmbH & Co. OHG",
  ],
  [
    "DE CH",
    "general_partnership",
    "PartG|PartGmbB|Partnerschaftsgesellschaft|Partnerschaftsgesellschaft mbB|PartG mbB|KlG|KmG",
  ],
  ["DE AT CH", "cooperative", "eG|e.G.|eingetragene Genossenschaft|Gen.|Genossenschaft|reg. Gen."],
  ["DE AT", "association", "e.V.|eingetragener Verein"],
  ["DE AT", "sole_proprietor", "e.K.|e.Kfm.|e.Kfr.|e.U.|eingetragener Kaufmann|eingetragene Kauffrau"],
  ["DE", null, "VVaG|Versicherungsverein auf Gegenseitigkeit|AöR|Anstalt des öffentlichen Rechts|KdöR"],
  [
    "FR BE LU CH MC",
    "private_limited",
    "SARL|S.à r.l.|S.à.r.l|Société à responsabilité limitée|SARLU|EURL|SàRL-S|Sagl",
  ],
  [
    "FR",
    "private_limited",
    "SAS|SASU|Société par actions simplifiée|Société par actions simplifiée unipersonnelle|SELARL|SELAS",
  ],
  [
    "FR BE LU CH",
    "public_limited",
    "SA|S A|Société Anonyme|Soc. Anonyme|SA à conseil d'administration|SA à directoire",
  ],
  [
    "FR BE LU",
    "limited_partnership",
    "SCA|SCS|SCSp|Société en commandite par actions|Société en commandite simple|SNC et Cie",
  ],
  [
    "FR BE LU",
    "general_partnership",
    "SNC|Société en nom collectif|SCI|Société civile|Société civile immobilière|GIE|SC",
  ],
  ["FR BE LU", "cooperative", "SCOP|SCIC|Société coopérative|SCRL|CVBA|SCRLFS"],
  ["FR BE LU", null, "et Cie|& Cie|Cie|Compagnie"],
  ["LU", "fund", "SICAV|SICAF|SICAR|SIF"],
  [
    "BE NL",
    "private_limited",
    "BV|B V|Besloten Vennootschap|BVBA|SPRL|SRL|Besloten Vennootschap met beperkte aansprakelijkheid",
  ],
  ["BE NL", "public_limited", "NV|N V|Naamloze Vennootschap"],
  ["BE NL", "limited_partnership", "CV|Commanditaire Vennootschap|Comm. V.|CommV"],
  ["BE NL", "general_partnership", "VOF|V.O.F.|Vennootschap onder firma|Maatschap"],
  ["BE NL", "cooperative", "U.A.|Coöperatie U.A.|W.A.|B.A."],
  ["BE LU", "association", "ASBL|VZW|AISBL|IVZW|Association sans but lucratif"],
  [
    "IT CH",
    "private_limited",
    "S.r.l.|S r l|Srls|Società a responsabilità limitata|S.r.l. unipersonale|a responsabilità limitata",
  ],
  ["IT", "public_limited", "S.p.A.|S p A|Società per azioni"],
  [
    "IT",
    "limited_partnership",
    "S.a.s.|S.a.p.a.|Società in accomandita semplice|Società in accomandita per azioni",
  ],
  ["IT", "general_partnership", "S.n.c.|Società in nome collettivo|S.s.|Società semplice"],
  ["IT", "cooperative", "Soc. Coop.|Società cooperativa|S.c.a r.l.|Scarl|S.c.p.a.|Soc. coop. a r.l."],
  ["IT", "association", "Onlus|ETS|APS"],
  [
    "ES",
    "private_limited",
    "S.L.|S L|S.L.U.|SL Unipersonal|Sociedad Limitada|Sociedad de Responsabilidad Limitada|S.L.P.|SLL|S.L.N.E.",
  ],
  ["ES", "public_limited", "S.A.U.|Sociedad Anónima|Sociedad Anónima Unipersonal|S.A.D.|S.A.E."],
  ["ES", "general_partnership", "S.C.|C.B.|Comunidad de Bienes|Sociedad Civil|Sociedad Colectiva|S.R.C."],
  ["ES", "cooperative", "S. Coop.|Sociedad Cooperativa|SCCL|S.C.L."],
  [
    "PT BR",
    "private_limited",
    "Lda.|Limitada|Ltda.|Unipessoal Lda.|Sociedade por quotas|EIRELI|Ltda. ME|Ltda. EPP|SLU",
  ],
  ["PT BR", "public_limited", "Sociedade Anónima|Sociedade Anônima|S/A|SGPS SA|SGPS"],
  [
    "MX",
    "public_limited",
    "S.A. de C.V.|S.A.B. de C.V.|S.A.P.I. de C.V.|SAB|Sociedad Anónima de Capital Variable|S.A. de C.V. SOFOM",
  ],
  [
    "MX",
    "private_limited",
    "S. de R.L.|S. de R.L. de C.V.|Sociedad de Responsabilidad Limitada de Capital Variable",
  ],
  [
    "AR CL CO PE EC UY BO VE",
    "public_limited",
    "S.A.A.|S.A.I.C.|S.A.C.I.|S.A.C.I.F.|S.A.I.C. y F.|C.A.|Compañía Anónima|S.A. E.S.P.",
  ],
  [
    "AR CL CO PE EC UY BO VE",
    "private_limited",
    "S.A.C.|S.A.S.|Cía. Ltda.|Sociedad por Acciones Simplificada|SpA|E.I.R.L.",
  ],
  ["DK", "private_limited", "ApS|Anpartsselskab|IVS|Iværksætterselskab"],
  ["DK", "public_limited", "A/S|Aktieselskab"],
  ["DK", "limited_partnership", "K/S|Kommanditselskab|P/S|Partnerselskab"],
  ["DK", "general_partnership", "I/S|Interessentskab"],
  ["DK", "cooperative", "A.m.b.a.|Amba|Andelsselskab|F.m.b.a."],
  ["NO", "private_limited", "AS|Aksjeselskap"],
  ["NO", "public_limited", "ASA|Allmennaksjeselskap"],
  ["NO", "general_partnership", "ANS|DA|Ansvarlig selskap|Selskap med delt ansvar"],
  ["NO", "cooperative", "Samvirkeforetak|BBL|BRL"],
  ["NO", "sole_proprietor", "ENK|Enkeltpersonforetak"],
  ["NO DK SE", "foundation", "Stiftelse|Stiftelsen"],
  ["SE FI", "private_limited", "AB|A B|Aktiebolag|Aktiebolaget"],
  ["SE FI", "public_limited", "AB (publ)|Publikt aktiebolag|ABp|Abp"],
  ["SE FI", "limited_partnership", "KB|Kommanditbolag|Kb"],
  ["SE", "general_partnership", "HB|Handelsbolag"],
  ["SE", "cooperative", "Ek. för.|Ekonomisk förening"],
  ["FI", "private_limited", "Oy|O.Y.|Osakeyhtiö|Oy Ab|Ab Oy"],
  ["FI", "public_limited", "Oyj|Julkinen osakeyhtiö|Oyj Abp"],
  ["FI", "limited_partnership", "Ky|Kommandiittiyhtiö"],
  ["FI", "general_partnership", "Ay|Avoin yhtiö|T:mi|Tmi"],
  ["FI", "cooperative", "Osk|Osuuskunta"],
  ["IS", "private_limited", "ehf.|Einkahlutafélag"],
  ["IS", "public_limited", "hf.|Hlutafélag"],
  ["EE", "private_limited", "OÜ|Osaühing"],
  ["EE LV", "public_limited", "AS|Aktsiaselts|A/S|Akciju sabiedrība"],
  ["LV", "private_limited", "SIA|Sabiedrība ar ierobežotu atbildību"],
  ["LT", "private_limited", "UAB|Uždaroji akcinė bendrovė|MB|Mažoji bendrija"],
  ["LT", "public_limited", "AB|Akcinė bendrovė"],
  [
    "PL",
    "private_limited",
    "Sp. z o.o.|Sp. z oo|Spółka z ograniczoną odpowiedzialnością|Spółka z o.o.|P.S.A.|Prosta spółka akcyjna",
  ],
  ["PL", "public_limited", "Spółka Akcyjna|S.K.A.|Spółka komandytowo-akcyjna"],
  ["PL", "limited_partnership", "Sp. k.|Spółka komandytowa|Sp. z o.o. Sp. k.|Sp. z o.o. Spółka komandytowa"],
  ["PL", "general_partnership", "Sp. j.|Spółka jawna|S.C.|Spółka cywilna|Sp. p."],
  ["PL", "cooperative", "Spółdzielnia"],
  [
    "CZ SK",
    "private_limited",
    "s.r.o.|s r o|spol. s r.o.|spol. s r. o.|společnost s ručením omezeným|spoločnosť s ručením obmedzeným",
  ],
  ["CZ SK", "public_limited", "a.s.|a s|akciová společnost|akciová spoločnosť|akc. spol."],
  ["CZ SK", "limited_partnership", "k.s.|komanditní společnost|komanditná spoločnosť"],
  ["CZ SK", "general_partnership", "v.o.s.|veřejná obchodní společnost|verejná obchodná spoločnosť"],
  ["CZ SK", "government", "s.p.|státní podnik|štátny podnik"],
  ["HU", "private_limited", "Kft.|Korlátolt Felelősségű Társaság"],
  [
    "HU",
    "public_limited",
    "Rt.|Zrt.|Nyrt.|Részvénytársaság|Zártkörűen Működő Részvénytársaság|Nyilvánosan Működő Részvénytársaság",
  ],
  ["HU", "limited_partnership", "Bt.|Betéti Társaság"],
  ["HU", "general_partnership", "Kkt.|Közkereseti Társaság"],
  [
    "SI HR RS BA ME MK",
    "private_limited",
    "d.o.o.|d o o|družba z omejeno odgovornostjo|društvo s ograničenom odgovornošću|j.d.o.o.|d.o.o.e.l.|DOOEL",
  ],
  [
    "SI HR RS BA ME MK",
    "public_limited",
    "d.d.|d d|delniška družba|dioničko društvo|a.d.|akcionarsko društvo",
  ],
  ["BG", "private_limited", "OOD|EOOD|ООД|ЕООД"],
  ["BG", "public_limited", "AD|EAD|АД|ЕАД"],
  ["RO MD", "private_limited", "Societate cu răspundere limitată|SRL-D"],
  ["RO MD", "public_limited", "Societate pe acțiuni"],
  ["AL XK", "private_limited", "Sh.p.k."],
  ["AL XK", "public_limited", "Sh.a."],
  ["GR CY", "private_limited", "EPE|E.P.E.|ΕΠΕ|IKE|I.K.E.|ΙΚΕ|Μονοπρόσωπη ΙΚΕ"],
  ["GR CY", "public_limited", "A.E.|AE|ΑΕ|Anonymi Etairia|Ανώνυμη Εταιρεία|ABEE|A.B.E.E."],
  ["GR CY", "general_partnership", "O.E.|OE|ΟΕ|E.E.|EE"],
  ["TR", "public_limited", "A.Ş.|AŞ|Anonim Şirketi|Anonim Sti"],
  [
    "TR",
    "private_limited",
    "Ltd. Şti.|Limited Şirketi|San. ve Tic. Ltd. Şti.|San. ve Tic. A.Ş.|Sanayi ve Ticaret A.Ş.|Tic. Ltd. Şti.",
  ],
  [
    "RU BY KZ UA UZ KG",
    "private_limited",
    "OOO|ООО|Общество с ограниченной ответственностью|ТОВ|TOV|ТОО|TOO|ОсОО|MChJ",
  ],
  [
    "RU BY KZ UA UZ KG",
    "public_limited",
    "OAO|ОАО|ZAO|ЗАО|PAO|ПАО|AO|АО|НАО|NAO|ПрАТ|PrAT|ПАТ|PAT|АТ|OJSC|CJSC|PJSC|Open Joint Stock Company",
  ],
  [
    "RU BY KZ UA UZ KG",
    "public_limited",
    "Public Joint Stock Company|Closed Joint Stock Company|Акционерное общество|Публичное акционерное общество",
  ],
  [
    "RU",
    "association",
    "ANO|АНО|NKO|НКО|Autonomous Non-Profit Organization|Автономная некоммерческая организация",
  ],
  ["RU", "government", "FGUP|ФГУП|GUP|ГУП|MUP|МУП|Federal State Unitary Enterprise"],
  ["IL", "private_limited", "Ba'am|בע\"מ|B.M."],
  [
    "AE SA QA BH KW OM JO EG LB",
    "private_limited",
    "W.L.L.|WLL|L.L.C. FZ|FZE|FZCO|FZ-LLC|FZC|DMCC|DWC-LLC|S.P.C.|Single Person Company",
  ],
  [
    "AE SA QA BH KW OM JO EG LB",
    "public_limited",
    "P.J.S.C.|P.S.C.|Q.S.C.|Q.P.S.C.|B.S.C.|B.S.C. (c)|K.S.C.|K.S.C.C.|K.S.C.P.|S.A.O.G.|S.A.O.C.|S.A.L.|S.A.E.",
  ],
  ["IR", "private_limited", "Private Joint Stock|PJS Co."],
  [
    "IN PK BD LK NP",
    "private_limited",
    "Private Limited|Pvt. Ltd.|(Pvt.) Ltd.|Pvt. Limited|P. Ltd.|(P) Ltd.|Pvt.|(Private) Limited|OPC Pvt. Ltd.",
  ],
  ["SG", "private_limited", "Pte. Ltd.|Private Limited|Pte. Limited|Pte.|(Pte.) Ltd."],
  ["MY BN", "private_limited", "Sdn. Bhd.|Sendirian Berhad|Sdn. Berhad|PLT"],
  ["MY BN", "public_limited", "Berhad|Bhd."],
  ["ID", "private_limited", "PT|P.T.|Perseroan Terbatas|CV"],
  ["ID", "public_limited", "Tbk.|PT Tbk|Persero|(Persero) Tbk."],
  [
    "AU NZ ZA NA BW",
    "private_limited",
    "Pty. Ltd.|Pty. Limited|(Pty) Ltd.|(Proprietary) Limited|Proprietary Limited|Pty.|CC|Close Corporation|NPC|SOC Ltd.",
  ],
  ["AU NZ", null, "NL|No Liability"],
  ["TH", "public_limited", "PCL|Public Company Limited|Public Co. Ltd."],
  [
    "CN HK TW JP KR TH VN MM KH",
    "private_limited",
    "Co. Ltd.|Co. Limited|Company Limited|Company Ltd.|有限公司|有限责任公司|有限責任公司|Co. Pte. Ltd.",
  ],
  [
    "CN TW",
    "public_limited",
    "股份有限公司|Joint Stock Limited|Joint Stock Co. Ltd.|Corp. Ltd.|Corporation Limited|Co. Inc.",
  ],
  ["JP", "public_limited", "K.K.|KK|Kabushiki Kaisha|Kabushiki Gaisha|株式会社"],
  ["JP", "private_limited", "G.K.|GK|Godo Kaisha|合同会社|Y.K.|Yugen Kaisha|Yugen Gaisha|有限会社"],
  ["KR", "public_limited", "Jusik Hoesa|Chusik Hoesa|주식회사|(주)"],
  ["KR", "private_limited", "Yuhan Hoesa|유한회사"],
  ["VN", "private_limited", "Công ty TNHH|TNHH|Một thành viên|MTV"],
  ["VN", "public_limited", "Công ty Cổ phần|CTCP|CP"],
  ["PH", null, "OPC|Corp. Inc."],
  ["NG GH KE TZ UG ZM", "private_limited", "Nig. Ltd.|Nigeria Ltd.|GTE"],
];

interface Form {
  readonly words: number;
  readonly entries: readonly { readonly countries: string; readonly category: LegalFormCategory | null }[];
}

function readTable(): ReadonlyMap<string, Form> {
  const forms = new Map<string, Form>();
  for (const [countries, category, spellings] of FORMS)
    for (const spelling of spellings.split("|")) {
      const key = foldName(spelling);
      const entries = forms.get(key)?.entries ?? [];
      forms.set(key, { words: key.split(" ").length, entries: [...entries, { countries, category }] });
    }
  return forms;
}

const BY_KEY = readTable();
const MAX_WORDS = Math.max(...[...BY_KEY.values()].map(({ words }) => words));
/** The most words of the forms that begin with a word. */
const WORDS_FROM: ReadonlyMap<string, number> = new Map(
  [...BY_KEY]
    .toSorted(([, a], [, b]) => a.words - b.words)
    .map(([key, { words }]) => [key.split(" ", 1)[0]!, words]),
);
/** Single words are forms only this near the end of a name, or at its start. */
const LAST_WORDS = 3;

/** A form that is spelt out may have one typing error: a word of so many characters is no other word by chance. */
const MIN_SPELT_CHARS = 10;
const ENDS_CHARS = 4;
/** The forms that are spelt out, by their first and last characters: an error leaves one of them. */
const SPELT = [...BY_KEY.keys()].filter(
  (key) => key.length >= MIN_SPELT_CHARS && key.split(" ").some(({ length }) => length >= 5),
);
const SPELT_FROM = Map.groupBy(SPELT, (key) => key.slice(0, ENDS_CHARS));
const SPELT_TO = Map.groupBy(SPELT, (key) => key.slice(-ENDS_CHARS));

/** The form that is meant by a text with one error; undefined: none. */
function misspelt(text: string): string | undefined {
  if (text.length < MIN_SPELT_CHARS - 1) return undefined;
  const isMeant = (key: string): boolean =>
    Math.abs(key.length - text.length) <= 1 &&
    (1 - spellingSimilarity(key, text)) * Math.max(key.length, text.length) < 1.5;
  return (
    SPELT_FROM.get(text.slice(0, ENDS_CHARS))?.find(isMeant) ??
    SPELT_TO.get(text.slice(-ENDS_CHARS))?.find(isMeant)
  );
}

export interface SplitName {
  /** The name without its legal forms; never empty unless the name was. */
  readonly stem: string;
  /** The forms that were removed, folded and spelt right. */
  readonly forms: readonly string[];
}

/** `A B C Transport` has no form `A B`: a form of single letters ends where the single letters end. */
function isCutFromLetters(words: readonly string[], at: number, length: number): boolean {
  const isLetters = words.slice(at, at + length).every((word) => word.length === 1);
  return isLetters && (words[at - 1]?.length === 1 || words[at + length]?.length === 1);
}

/**
 * Takes the legal forms off a folded name, the longest first: at the end, within the last three words, or at the start;
 * forms of two and more words anywhere. A name that is all form keeps its words: `ag` stays `ag`.
 */
export function splitLegalForms(folded: string): SplitName {
  let words = folded.split(" ");
  const forms: string[] = [];
  for (let length = Math.min(MAX_WORDS, words.length - 1); length >= 1; length--) {
    for (let at = words.length - length; at >= 0; at--) {
      if (words.length <= length) break;
      const isNearEnd = at + length > words.length - LAST_WORDS;
      if (length === 1 && at > 0 && !isNearEnd) continue;
      const isAtEnd = at === 0 || at + length === words.length;
      if (!isAtEnd && (WORDS_FROM.get(words[at]!) ?? 0) < length) continue;
      const key = length === 1 ? words[at]! : words.slice(at, at + length).join(" ");
      const form = BY_KEY.has(key) ? key : isAtEnd ? misspelt(key) : undefined;
      if (form === undefined || isCutFromLetters(words, at, length)) continue;
      forms.push(form);
      words = [...words.slice(0, at), ...words.slice(at + length)];
      at = Math.min(at, words.length - length + 1);
    }
  }
  return { stem: words.join(" "), forms };
}

export const isForm = (folded: string): boolean => BY_KEY.has(folded);

/** The categories a form can stand for; empty: it is unknown. */
export const categoriesOf = (folded_form: string): readonly LegalFormCategory[] =>
  (BY_KEY.get(folded_form)?.entries ?? []).flatMap(({ category }) => category ?? []);

/** The countries that have one of these forms; empty: a form of them is used in several that the table does not list, or is unknown. */
export function countriesOf(folded_forms: readonly string[]): ReadonlySet<string> {
  const entries = folded_forms.flatMap((form) => BY_KEY.get(form)?.entries ?? []);
  const countries = entries.flatMap((entry) => entry.countries.split(" "));
  return new Set(countries.includes("*") ? [] : countries);
}

/**
 * The category of a legal form as a register writes it, in that country. Null: the form is not in the table, or does not
 * give the category.
 */
export function legalFormCategory(form: string, country: string | null): LegalFormCategory | null {
  const entries = BY_KEY.get(foldName(form))?.entries ?? [];
  const own =
    country === null ? undefined : entries.find(({ countries }) => countries.split(" ").includes(country));
  const categories = new Set(entries.map(({ category }) => category));
  return own?.category ?? (categories.size === 1 ? (entries[0]!.category ?? null) : null);
}
