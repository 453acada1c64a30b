/** Countries as clients name them: an ISO code, or a name in English or German. Pure. */

const A = "A".codePointAt(0)!;
const LETTERS = Array.from({ length: 26 }, (_, at) => String.fromCodePoint(A + at));
const folded = (name: string): string => name.normalize("NFKC").replaceAll("’", "'").trim().toLowerCase();

/** The code that replaced an old one: GB for UK, DE for DD. */
const current = (code: string): string => new Intl.Locale(`und-${code}`).region ?? code;

/**
 * Regions of the Unicode data that are no countries, by the code that `current` gives them: groupings, pseudo-regions, and
 * islands whose codes ISO 3166-1 reserves.
 */
const NO_COUNTRIES: ReadonlySet<string> = new Set("EU EZ UN QO XA XB AC CP CQ DG EA IC TA ZZ".split(" "));

let codes: ReadonlyMap<string, string> | null = null;

/** By its names and its codes, all in lower case. Made when it is first asked for: a service that reads no profile starts without it. */
const codesByName = (): ReadonlyMap<string, string> =>
  (codes ??= new Map(
    ["en", "de"].flatMap((language) => {
      const names = new Intl.DisplayNames([language], { type: "region", fallback: "none" });
      return LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).flatMap(
        (code): [string, string][] => {
          const name = names.of(code);
          if (name === undefined || NO_COUNTRIES.has(current(code))) return [];
          return [
            [folded(name), current(code)],
            [folded(code), current(code)],
          ];
        },
      );
    }),
  ));

/** Names that people write and the Unicode data does not have. */
const MORE: Readonly<Record<string, string>> = {
  "great britain": "GB",
  england: "GB",
  scotland: "GB",
  wales: "GB",
  "northern ireland": "GB",
  schottland: "GB",
  nordirland: "GB",
  großbritannien: "GB",
  usa: "US",
  "united states of america": "US",
  holland: "NL",
  "the netherlands": "NL",
  turkey: "TR",
  "ivory coast": "CI",
  elfenbeinküste: "CI",
  palestine: "PS",
  palästina: "PS",
  "cape verde": "CV",
  "vatican city": "VA",
  vatikan: "VA",
  "north macedonia": "MK",
  "hong kong": "HK",
  hongkong: "HK",
  macau: "MO",
  macao: "MO",
  "republic of ireland": "IE",
  "russian federation": "RU",
  "russische föderation": "RU",
  "republic of korea": "KR",
  "republik korea": "KR",
  "people's republic of china": "CN",
  "volksrepublik china": "CN",
  weißrussland: "BY",
  "czech republic": "CZ",
  "tschechische republik": "CZ",
};

/** ISO 3166-1 alpha-2; null for a name that is not known, which is ignored. */
export function countryCode(name: string | null | undefined): string | null {
  const key = folded(name ?? "");
  return MORE[key] ?? codesByName().get(key) ?? null;
}
