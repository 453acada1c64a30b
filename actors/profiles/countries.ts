/** Countries as clients name them: an ISO code, or a name in English or German. Pure. */

const A = "A".codePointAt(0)!;
const LETTERS = Array.from({ length: 26 }, (_, at) => String.fromCodePoint(A + at));
const folded = (name: string): string => name.normalize("NFKC").trim().toLowerCase();

/** The code that replaced an old one: GB for UK, DE for DD. */
const current = (code: string): string => new Intl.Locale(`und-${code}`).region ?? code;

/** By its names and its codes, all in lower case. */
const CODES: ReadonlyMap<string, string> = new Map(
  ["en", "de"].flatMap((language) => {
    const names = new Intl.DisplayNames([language], { type: "region", fallback: "none" });
    return LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).flatMap(
      (code): [string, string][] => {
        const name = code === "ZZ" ? undefined : names.of(code);
        if (name === undefined) return [];
        return [
          [folded(name), current(code)],
          [folded(code), current(code)],
        ];
      },
    );
  }),
);
/** Names that people write and the Unicode data does not have. */
const MORE: Readonly<Record<string, string>> = {
  "great britain": "GB",
  großbritannien: "GB",
  usa: "US",
  "united states of america": "US",
  holland: "NL",
  "czech republic": "CZ",
  "tschechische republik": "CZ",
};

/** ISO 3166-1 alpha-2; null for a name that is not known, which is ignored. */
export function countryCode(name: string | null | undefined): string | null {
  const key = folded(name ?? "");
  return MORE[key] ?? CODES.get(key) ?? null;
}
