/**
 * A register of companies that do not exist, and questions about them, the same for the same seed. Names are drawn from syllables,
 * common words, places and legal forms, so that many of them share words; one company in eight is a namesake of another, with a form or a
 * city of its own. A question is a company's name as people write it: with a typo, without the form or with it spelt out, shortened,
 * without umlauts. One in five is about a company that is not in the register.
 */
import { importedId } from "../actors/sources/companies/imports/imported.ts";
import type { CompanyEntry } from "../actors/sources/companies/search-index.ts";
import { goldenLei } from "../test/harness/golden-copy.ts";

const SYLLABLES =
  "al an ar bel ber bo ca cor da del dor el en fa fel gar gen hal han il in ka kel la lan lin lo ma mar mel mi mon na nel nor o or pa per ra ren ri ro sa sel ser so ta tel ter to tra u val van ver vi vo wal wen win ze zel".split(
    " ",
  );
const TRADES =
  "bau bank consulting energie engineering finance foods group handel holding immobilien invest logistics maschinenbau media medical pharma services software solutions systems technik trading transport trust verlag".split(
    " ",
  );
const COUNTRIES = [
  { country: "CH", cities: "basel bern genf lugano zug zürich", forms: ["AG", "GmbH", "SA"] },
  {
    country: "DE",
    cities: "berlin hamburg köln münchen bremen leipzig",
    forms: ["AG", "GmbH", "GmbH & Co. KG"],
  },
  { country: "FR", cities: "paris lyon nantes lille", forms: ["SA", "SAS"] },
  { country: "GB", cities: "london leeds bristol", forms: ["Ltd", "PLC"] },
  { country: "NO", cities: "oslo bergen", forms: ["AS"] },
  { country: "FI", cities: "helsinki turku", forms: ["Oy"] },
  { country: "PL", cities: "krakow warszawa", forms: ["Sp. z o.o."] },
] as const;
/** Each form with its category and how it is spelt out. */
const FORMS: Readonly<Record<string, readonly [category: string, spelt: string]>> = {
  AG: ["public_limited", "Aktiengesellschaft"],
  GmbH: ["private_limited", "Gesellschaft mit beschränkter Haftung"],
  "GmbH & Co. KG": ["limited_partnership", "GmbH & Co KG"],
  SA: ["public_limited", "S.A."],
  SAS: ["private_limited", "S.A.S."],
  Ltd: ["private_limited", "Limited"],
  PLC: ["public_limited", "Public Limited Company"],
  AS: ["private_limited", "A/S"],
  Oy: ["private_limited", "Osakeyhtiö"],
  "Sp. z o.o.": ["private_limited", "Spółka z ograniczoną odpowiedzialnością"],
};
const NAMESAKES = 1 / 8;
const ABSENT = 1 / 5;

export interface InventedCompany extends CompanyEntry {
  /** Its number at GLEIF: the id is the one that an import of it gives. */
  readonly lei: string;
  readonly stem: string;
  readonly form: string;
  readonly city: string;
  readonly country: string;
}

export interface Question {
  /** The company that is meant; null: it is not in the register. */
  readonly id: string | null;
  /** As people write it, without and with its legal form. */
  readonly name: string;
  readonly name_with_form: string;
  /** As its register has it. */
  readonly legal: string;
  readonly country: string;
  readonly city: string;
}

export function inventedRegister(seed: number) {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(random() * limit);
  const pick = <T>(all: readonly T[]): T => all[below(all.length)]!;
  const word = (): string => Array.from({ length: 2 + below(3) }, () => pick(SYLLABLES)).join("");

  function stem(city: string): string {
    const words = [word()];
    if (random() < 0.35) words.push(word());
    if (random() < 0.7) words.push(pick(TRADES));
    if (random() < 0.25) words.push(city);
    return words.join(" ");
  }

  /** `namesake`: whose stem it has; null: a stem of its own. */
  function company(number: number, namesake: string | null): InventedCompany {
    const { country, cities, forms } = pick(COUNTRIES);
    const city = pick(cities.split(" "));
    const form = pick(forms);
    const own = namesake ?? stem(city);
    const lei = goldenLei(number);
    return {
      id: importedId(`lei:${lei}`),
      lei,
      names: [`${own} ${form}`],
      stem: own,
      form,
      country,
      city,
      legal_form: FORMS[form]![0],
      identifiers: [],
      status: "active",
    };
  }

  /** Makes a typing error in any word: a character wrong, missing, too many, or two exchanged. */
  function withTypo(text: string): string {
    const words = text.split(" ");
    const which = below(words.length);
    const chosen = words[which]!;
    const at = Math.min(chosen.length - 1, 1 + below(chosen.length));
    const character = pick("abcdefghijklmnopqrstuvwxyz".split(""));
    const [head, tail] = [chosen.slice(0, at), chosen.slice(at)];
    const changed = [
      head + character + tail.slice(1),
      head + tail.slice(1),
      head + character + tail,
      head.slice(0, -1) + tail.slice(0, 1) + head.slice(-1) + tail.slice(1),
    ];
    words[which] = pick(changed);
    return words.join(" ");
  }

  const plain = (text: string): string => text.normalize("NFKD").replaceAll(/\p{M}/gu, "");
  const shortened = (text: string): string =>
    text
      .replace("holding", "hldg")
      .replace("services", "svcs")
      .replace("engineering", "eng.")
      .replace("group", "grp");
  const capitals = (text: string): string => text.toUpperCase();

  return {
    /** In lots, so that a caller does not hold a million of them twice. */
    *companies(count: number, lot: number): Generator<InventedCompany[]> {
      let recent: string | null = null;
      for (let at = 0; at < count; at += lot) {
        const made: InventedCompany[] = [];
        for (let number = at; number < Math.min(count, at + lot); number++) {
          const one = company(number, random() < NAMESAKES ? recent : null);
          recent = one.stem;
          made.push(one);
        }
        yield made;
      }
    },
    withTypo,
    question(of: InventedCompany): Question {
      const isAbsent = random() < ABSENT;
      const meant = isAbsent ? company(0, null) : of;
      const name = pick([withTypo, plain, shortened, capitals, (text: string) => text])(meant.stem);
      const form = random() < 0.5 ? meant.form : FORMS[meant.form]![1];
      const { country, city } = meant;
      const legal = meant.names[0]!;
      return { id: isAbsent ? null : of.id, name, name_with_form: `${name} ${form}`, legal, country, city };
    },
    pick,
  };
}
