/**
 * How likely two company names are the same company's, 0 to 100. The weights are one table; they were chosen on pairs of
 * our own (test/fixtures/companies/name-pairs.csv) and on error statistics of a public benchmark (opensanctions). Pure. A name is prepared once and compared many times.
 */
import { foldName } from "./fold.ts";
import { categoriesOf, isForm, type LegalFormCategory, splitLegalForms } from "./legal-forms.ts";
import { withDigits } from "./number-words.ts";
import { jaroWinkler, levenshteinSimilarity, spellingSimilarity } from "./similarity.ts";
import { withTerritories } from "./territories.ts";

/** From this score on two names count as the same in a screening of names alone. */
export const NAME_THRESHOLD = 77;

const WEIGHTS = {
  levenshtein: 0.75,
  jaro_winkler: 0.25,
  same_words: 98,
  shortened: 90,
  reordered: -4,
  contained: 70,
  contained_share: 16,
  initials: 86,
  numbers_differ: -6,
  one_number: -20,
  territories_differ: -20,
  one_territory: -10,
  one_word_differs: -12,
  first_letter_differs: -6,
  forms_differ: -20,
} as const;
/** A contained name shorter than this proves too little. */
const MIN_CONTAINED_CHARS = 6;
const MIN_INITIALS = 3;
const MIN_SHORTENED_CHARS = 3;
/** Two words further apart than this are two words, not two spellings. */
const MAX_SPELLING_DISTANCE = 0.2;
const MIN_TELLING_CHARS = 3;

/** Business words, by the word that stands for their abbreviations, plurals and translations. */
const SYNONYMS: Readonly<Record<string, string>> = {
  airline: "airlines airways airway aerolineas aviakompaniya",
  association: "assn assoc asociacion associacao associazione vereinigung",
  bank: "banco banque banca banka bankasi banki bancorp",
  brother: "bros brothers gebrueder freres fratelli hermanos irmaos",
  central: "centrale zentral centralny",
  chemical: "chemicals chem chemie",
  construction: "constructions constr construcciones insaat stroitelstvo",
  department: "dept departamento departement",
  development: "dev devel desarrollo entwicklung",
  electronic: "electronics electronica",
  energy: "energie energia energies",
  engineering: "eng engg engineers engineer",
  enterprise: "enterprises entreprise empresa empresas predpriyatie",
  export: "eksport exports exporter exporters",
  factory: "fabrika fabryka fabrik fabrica usine",
  finance: "finances financial finanz finanzas",
  foundation: "fundacion fondation fondazione fundacao stiftung stichting",
  general: "gen",
  government: "govt gov",
  group: "grp groupe grupo gruppe gruppo grupa gruppa",
  holding: "holdings hldgs hldg",
  hospital: "hopital",
  import: "imports importer importers",
  industry: "industries ind inds industrial industrie industria industrias",
  insurance: "ins assurance assurances seguros versicherung versicherungen",
  institute: "inst institut instituto institution",
  international: "intl internacional internationale internazionale",
  investment: "investments invest inversiones investissement",
  laboratory: "lab labs laboratories laboratoire laboratoires laboratorios",
  logistic: "logistics logistik logistique logistica",
  management: "mgmt mgt",
  manufacturing: "mfg manufacture manufacturers manufacturer mfrs",
  marine: "maritime maritima",
  ministry: "ministerio ministere ministerium min ministerstvo",
  mining: "mines mine minera miniere",
  national: "natl nacional nationale nazionale",
  number: "no nr num nomer",
  organization: "organisation org organizacion",
  petroleum: "petr petrol petroleo petroles",
  pharmaceutical: "pharma pharm pharmaceuticals pharmaceutica",
  plant: "zavod works werk werke",
  production: "productions prod produccion",
  project: "projects",
  property: "properties",
  resource: "resources res",
  saint: "st ste sankt santo",
  science: "sciences scientific",
  security: "securities",
  service: "services svc svcs serv servicios servis",
  shipping: "shpg navigation naviera",
  solution: "solutions",
  state: "estatal",
  steel: "stal stahl acier aceros",
  system: "systems sys systeme sistemas",
  technology: "technologies tech technical tecnologia technologie",
  telecommunication: "telecommunications telecom telekom",
  trade: "trading torgovy handel handels comercio",
  transport: "transportation transports transporte trans transportes",
  university: "univ universidad universite universitaet universita",
};
const STANDARD_WORDS: ReadonlyMap<string, string> = new Map(
  Object.entries(SYNONYMS).flatMap(([word, variants]) =>
    variants.split(" ").map((variant) => [variant, word]),
  ),
);
/** Words that names are written with and without. */
const OPTIONAL: ReadonlySet<string> = new Set(
  "corporation company corp co and of the de del la le les di da do dos der die das und et y e".split(" "),
);
/** Groups of forms that exclude each other: a partnership is no stock corporation. */
export const FORM_GROUPS: Readonly<Partial<Record<LegalFormCategory, string>>> = {
  private_limited: "limited",
  public_limited: "stock",
  european_company: "stock",
  limited_partnership: "partnership",
  general_partnership: "partnership",
  cooperative: "cooperative",
  association: "association",
};

export interface PreparedName {
  readonly words: readonly string[];
  readonly joined: string;
  /** The name without its legal forms as it is written, without blanks. */
  readonly written: string;
  /** The words in alphabetical order, joined. */
  readonly sorted: string;
  readonly numbers: ReadonlySet<string>;
  readonly territories: ReadonlySet<string>;
  /** First letters of all words, with and without legal forms and optional words. */
  readonly initials: readonly string[];
  /** Groups that the legal forms can be of; empty: not known. */
  readonly form_groups: ReadonlySet<string>;
}

/** The groups of each form, once they were worked out. */
const groupsOfForm = new Map<string, readonly string[]>();
function groupsOf(form: string): readonly string[] {
  let groups = groupsOfForm.get(form);
  if (groups === undefined) {
    groups = categoriesOf(form).flatMap((category) => FORM_GROUPS[category] ?? []);
    groupsOfForm.set(form, groups);
  }
  return groups;
}

const isNumber = (word: string): boolean => /^[0-9]+$/.test(word);
const initialsOf = (words: readonly string[]): string => words.map((word) => word[0]!).join("");
const wordsOf = (text: string): readonly string[] => (text === "" ? [] : text.split(" "));

export function prepareName(name: string): PreparedName {
  const folded = foldName(name);
  const { stem, forms } = splitLegalForms(folded);
  const written = wordsOf(stem);
  const placed = withTerritories(written);
  const standard = withDigits(placed.words.map((word) => STANDARD_WORDS.get(word) ?? word));
  const telling = standard.filter((word) => !OPTIONAL.has(word));
  const words = telling.length > 0 ? telling : standard;
  return {
    words,
    joined: words.join(""),
    written: written.join(""),
    sorted: words.toSorted().join(""),
    numbers: new Set(words.filter(isNumber)),
    territories: placed.territories,
    get initials() {
      const whole = wordsOf(folded);
      const telling_whole = whole.filter((word) => !OPTIONAL.has(word) || isForm(word));
      return [whole, telling_whole, written, words].map(initialsOf);
    },
    form_groups: new Set(forms.flatMap(groupsOf)),
  };
}

export const areEqual = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && a.isSubsetOf(b);

const isInitialsOf = (single: PreparedName, spelt: PreparedName): boolean =>
  single.words.length === 1 &&
  single.joined.length >= MIN_INITIALS &&
  spelt.words.length > 1 &&
  spelt.initials.includes(single.joined);

/** `pharm` of `pharmaceutical`. */
const isShortened = (a: string, b: string): boolean =>
  Math.min(a.length, b.length) >= MIN_SHORTENED_CHARS && (a.startsWith(b) || b.startsWith(a));

/** The words that each name has alone, after shortened words found the words they stand for. */
function differingWords(
  a: PreparedName,
  b: PreparedName,
): { readonly onlyA: string[]; readonly onlyB: string[] } {
  const onlyA = a.words.filter((word) => !b.words.includes(word));
  const onlyB = b.words.filter((word) => !a.words.includes(word));
  if (a.words.length === 1 || b.words.length === 1) return { onlyA, onlyB };
  const unmatchedA = onlyA.filter((word) => {
    const at = onlyB.findIndex((candidate) => isShortened(word, candidate));
    if (at >= 0) onlyB.splice(at, 1);
    return at < 0;
  });
  return { onlyA: unmatchedA, onlyB };
}

/** The least the score is, from how the words of the two names relate. */
function floorOfWords(
  a: PreparedName,
  b: PreparedName,
  onlyA: readonly string[],
  onlyB: readonly string[],
): number {
  if (a.written === b.written) return WEIGHTS.same_words;
  if (onlyA.length === 0 && onlyB.length === 0)
    return areEqual(new Set(a.words), new Set(b.words)) ? WEIGHTS.same_words : WEIGHTS.shortened;
  let floor = isInitialsOf(a, b) || isInitialsOf(b, a) ? WEIGHTS.initials : 0;
  const extra = onlyA.length === 0 ? onlyB : onlyB.length === 0 ? onlyA : null;
  const shorter = Math.min(a.joined.length, b.joined.length);
  const isTelling = extra !== null && !extra.some(isNumber) && withTerritories(extra).territories.size === 0;
  if (isTelling && shorter >= MIN_CONTAINED_CHARS) {
    const share = shorter / Math.max(a.joined.length, b.joined.length);
    floor = Math.max(floor, WEIGHTS.contained + WEIGHTS.contained_share * share);
  }
  return floor;
}

/** Letters that transliterations exchange at the beginning of a word. */
const FIRST_LETTERS: Readonly<Record<string, string>> = {
  c: "k",
  q: "k",
  j: "y",
  i: "y",
  w: "v",
  z: "s",
  x: "s",
  p: "f",
  g: "h",
};
const firstLetter = (word: string): string => FIRST_LETTERS[word[0]!] ?? word[0]!;

/** The consonants of a word as transliterations have in common: `yugmashstroi` and `jugmashstroy` have one skeleton. */
export const skeletonOf = (word: string): string =>
  firstLetter(word) +
  word
    .slice(1)
    .replaceAll(/[a-z]/g, (character) => FIRST_LETTERS[character] ?? character)
    .replaceAll(/[aeiouyh]/g, "")
    .replaceAll(/(.)\1+/g, "$1");

/** The penalty for the one word in which two names differ. Single characters and short codes are too short to count against them. */
function penaltyOfWords(a: string, b: string): number {
  const length = Math.max(a.length, b.length);
  if (length < MIN_TELLING_CHARS || (isNumber(a) && isNumber(b))) return 0;
  const distance = 1 - spellingSimilarity(a, b);
  const isSpelling =
    distance <= MAX_SPELLING_DISTANCE || (distance * length <= 1 && length > MIN_TELLING_CHARS);
  return (
    (isSpelling ? 0 : WEIGHTS.one_word_differs) +
    (firstLetter(a) === firstLetter(b) ? 0 : WEIGHTS.first_letter_differs)
  );
}

export interface NameEffect {
  readonly kind: "word" | "form" | "number" | "country";
  /** 0 or less, of 100. */
  readonly effect: number;
}

/** Reasons against two names that look alike. */
function effectsOf(
  a: PreparedName,
  b: PreparedName,
  onlyA: readonly string[],
  onlyB: readonly string[],
): readonly NameEffect[] {
  const effects: NameEffect[] = [];
  if (!areEqual(a.numbers, b.numbers) && a.joined !== b.joined) {
    // `Trust I` beside `Trust II`: a character alone is no number, but it stands where the other name has one.
    const haveBoth = (a.numbers.size > 0 && b.numbers.size > 0) || (onlyA.length > 0 && onlyB.length > 0);
    const effect = haveBoth ? WEIGHTS.numbers_differ : WEIGHTS.one_number;
    effects.push({ kind: "number", effect });
  }
  if (!areEqual(a.territories, b.territories)) {
    const areTwo = a.territories.size > 0 && b.territories.size > 0;
    effects.push({ kind: "country", effect: areTwo ? WEIGHTS.territories_differ : WEIGHTS.one_territory });
  }
  if (onlyA.length === 1 && onlyB.length === 1 && a.written !== b.written) {
    const effect = penaltyOfWords(onlyA[0]!, onlyB[0]!);
    if (effect !== 0) effects.push({ kind: "word", effect });
  }
  if (haveOtherForms(a, b)) effects.push({ kind: "form", effect: WEIGHTS.forms_differ });
  return effects;
}

/** Both names have a legal form, and no form that the one can be is one that the other can be. */
export const haveOtherForms = (a: PreparedName, b: PreparedName): boolean =>
  a.form_groups.size > 0 && b.form_groups.size > 0 && a.form_groups.isDisjointFrom(b.form_groups);

const likeness = (a: string, b: string): number =>
  a === b
    ? 100
    : 100 * (WEIGHTS.levenshtein * levenshteinSimilarity(a, b) + WEIGHTS.jaro_winkler * jaroWinkler(a, b));

/** Each name has a word that the other lacks. */
export function haveDifferentWords(a: PreparedName, b: PreparedName): boolean {
  const { onlyA, onlyB } = differingWords(a, b);
  return onlyA.length > 0 && onlyB.length > 0 && a.joined !== b.joined;
}

export interface NameComparison {
  /** How alike the words are, 0 to 100. */
  readonly base: number;
  readonly effects: readonly NameEffect[];
}

export function compareNames(a: PreparedName, b: PreparedName): NameComparison {
  if (a.joined === "" || b.joined === "") return { base: 0, effects: [] };
  const { onlyA, onlyB } = differingWords(a, b);
  const inOrder = likeness(a.joined, b.joined);
  const isInOrder = a.sorted === a.joined && b.sorted === b.joined;
  const reordered = isInOrder ? 0 : likeness(a.sorted, b.sorted) + WEIGHTS.reordered;
  const floor = floorOfWords(a, b, onlyA, onlyB);
  return { base: Math.max(inOrder, reordered, floor), effects: effectsOf(a, b, onlyA, onlyB) };
}

export function scoreNames(a: PreparedName, b: PreparedName): number {
  const { base, effects } = compareNames(a, b);
  return Math.max(
    0,
    effects.reduce((sum, { effect }) => sum + effect, base),
  );
}
