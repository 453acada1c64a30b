/**
 * Legal forms by their codes (ELF, ISO 20275): name, abbreviation and category, from lists/legal-forms.json, which
 * `npm run lists` writes from GLEIF's list. Pure.
 */
import { createRequire } from "node:module";

interface FormList {
  readonly rows: Readonly<
    Record<
      string,
      readonly [country: string | null, label: string, abbreviation: string | null, category: string | null]
    >
  >;
}

let list: FormList | null = null;
/** Loaded with the first code: a node that is asked for no company does without it. */
const forms = (): FormList["rows"] =>
  (list ??= createRequire(import.meta.url)("./lists/legal-forms.json") as FormList).rows;

interface ElfForm {
  readonly country: string | null;
  readonly label: string;
  readonly abbreviation: string | null;
  /** A category of company/v1; null: the name of the form does not show it. */
  readonly category: string | null;
}

/** Null: the list has no such code. */
export function elfForm(code: string): ElfForm | null {
  const row = forms()[code];
  if (row === undefined) return null;
  const [country, label, abbreviation, category] = row;
  return { country, label, abbreviation, category };
}
