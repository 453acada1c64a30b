/** A filer's facts, counted while they are read: concepts by taxonomy, never the figures themselves. */
import { type JsonScanner, jsonScanner, textOf } from "./json-scan.ts";

export interface FactsSummary {
  readonly name: string | null;
  /** Concepts by taxonomy, in the order of the document. */
  readonly taxonomies: Readonly<Record<string, number>>;
  readonly concepts: number;
}

export interface FactsCounter {
  readonly push: JsonScanner["push"];
  /** Null: it was no whole facts document. */
  readonly end: () => FactsSummary | null;
}

/** `{cik, entityName, facts: {taxonomy: {concept: …}}}`: the document is 0 deep, a concept 3. */
export function factsCounter(): FactsCounter {
  const taxonomies: Record<string, number> = {};
  let name: string | null = null;
  let is_facts = false;
  let has_facts = false;
  let taxonomy: string | null = null;
  const scanner = jsonScanner(3, {
    opened(depth, key) {
      if (depth === 1) has_facts ||= is_facts = key === "facts";
      if (!is_facts || key === null) return;
      if (depth === 2) {
        taxonomy = key;
        taxonomies[key] ??= 0;
      } else if (depth === 3 && taxonomy !== null) taxonomies[taxonomy]!++;
    },
    closed(depth) {
      if (depth === 1) is_facts = false;
      if (depth === 2) taxonomy = null;
    },
    said(depth, key, token) {
      if (depth === 1 && key === "entityName" && token !== "null") name = textOf(token);
    },
  });
  return {
    push: scanner.push,
    end() {
      if (!scanner.isWhole() || !has_facts) return null;
      const concepts = Object.values(taxonomies).reduce((sum, some) => sum + some, 0);
      return { name: name === "" ? null : name, taxonomies, concepts };
    },
  };
}
