/** Names as the company register compares them, for discovery. Pure. */
import { foldName } from "../../companies/names/fold.ts";
import { categoriesOf, splitLegalForms } from "../../companies/names/legal-forms.ts";
import { nameSimilarity } from "../../companies/names/similarity.ts";
import type { NameRules } from "../discovery.ts";

function wordsOf(name: string): readonly string[] {
  return splitLegalForms(foldName(name))
    .stem.split(" ")
    .filter((word) => word !== "");
}

/** The form in the spelling of the name: "GmbH & Co. KG". */
function legalForm(name: string): string | null {
  const [form] = splitLegalForms(foldName(name)).forms;
  if (form === undefined) return null;
  const words = name.split(/\s+/);
  for (let from = 0; from < words.length; from++)
    for (let to = words.length; to > from; to--) {
      const written = words.slice(from, to).join(" ");
      if (foldName(written) === form) return written.replace(/[,;]$/, "");
    }
  return null;
}

/** AG and Aktiengesellschaft are one form, AG and GmbH are two; what a name does not show is no conflict. */
function formsConflict(a: string, b: string): boolean {
  const [left, right] = [a, b].map(
    (name) => new Set(splitLegalForms(foldName(name)).forms.flatMap(categoriesOf)),
  ) as [Set<string>, Set<string>];
  return left.size > 0 && right.size > 0 && left.isDisjointFrom(right);
}

export const nameRules: NameRules = {
  words: wordsOf,
  similarity: (a, b) => nameSimilarity(wordsOf(a).join(" "), wordsOf(b).join(" ")),
  legalForm,
  formsConflict,
};
