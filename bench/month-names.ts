/**
 * Writes actors/reading/article/month-names.ts: the names of the Gregorian months in all languages that CLDR has, as Node's Intl knows
 * them, in full and short, alone and beside a day.
 *
 *   node bench/month-names.ts --write
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { foldedMonth } from "../actors/reading/article/month-names.ts";

const { values: options } = parseArgs({ options: { write: { type: "boolean", default: false } } });

const LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");
const CODES = LETTERS.flatMap((a) => LETTERS.flatMap((b) => [a + b, ...LETTERS.map((c) => a + b + c)]));
const FORMS = (["long", "short"] as const).flatMap((month) => [
  { month },
  { month, day: "numeric" } as const,
]);
/** Least length of a name in a language of few speakers: only names that are no words of other languages. */
const LONG_CHARS = 5;

/** Name to month to languages. */
const names = new Map<string, Map<number, Set<string>>>();
for (const language of Intl.DateTimeFormat.supportedLocalesOf(CODES).map((tag) => tag.split("-")[0]!))
  for (const form of FORMS) {
    const format = new Intl.DateTimeFormat(`${language}-u-ca-gregory-nu-latn`, { ...form, timeZone: "UTC" });
    for (let month = 1; month <= 12; month += 1) {
      const part = format
        .formatToParts(Date.UTC(2024, month - 1, 15))
        .find(({ type }) => type === "month")?.value;
      const name = foldedMonth(part ?? "");
      if (!/^\p{L}{2,20}$/u.test(name) || (language.length > 2 && name.length < LONG_CHARS)) continue;
      const months = names.get(name) ?? new Map<number, Set<string>>();
      names.set(name, months);
      months.set(month, (months.get(month) ?? new Set()).add(language));
    }
  }

const common: string[][] = Array.from({ length: 12 }, () => []);
const own: string[] = [];
for (const [name, months] of [...names].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const ranked = [...months].toSorted(([, a], [, b]) => b.size - a.size);
  common[ranked[0]![0] - 1]!.push(name);
  for (const [month, languages] of ranked.slice(1))
    for (const language of languages) own.push(`${language} ${name} ${month}`);
}

const quoted = (text: string): string => `"${text}"`;
const source = `/**
 * Names of months in the languages of CLDR, lower case and without marks. The tables are written by
 * \`node bench/month-names.ts --write\`, from Node's Intl.
 */

/** A name as it is compared: lower case, without accents and the point of an abbreviation. */
export const foldedMonth = (name: string): string =>
  name.normalize("NFKD").replace(/\\p{M}/gu, "").toLowerCase().replace(/[.\\s]+$/, "");

/** January first. */
export const MONTH_NAMES: readonly string[] = [
${common.map((each) => `  ${quoted(each.join(" "))},`).join("\n")}
]; // prettier-ignore

/** A language's own month for a name that means another one in most: language, name, month. */
export const OWN_MONTHS = ${quoted(own.join(", "))}; // prettier-ignore
`;
console.log(`${names.size} names, ${own.length} with another meaning in some language`);
if (options.write)
  writeFileSync(new URL("../actors/reading/article/month-names.ts", import.meta.url), source);
