/** Counts a filer's XBRL concepts by taxonomy while the facts are read. The figures themselves are not parsed. */
import { type JsonScanner, jsonScanner, textOf } from "./json-scan.ts";

export interface FactsSummary {
  readonly name: string | null;
  /** Concepts by taxonomy, in the order of the document. */
  readonly taxonomies: Readonly<Record<string, number>>;
  readonly concepts: number;
}

export interface FactsCounter {
  readonly push: JsonScanner["push"];
  /** Null: the document was not a complete facts document. */
  readonly end: () => FactsSummary | null;
}

/** `{cik, entityName, facts: {taxonomy: {concept: …}}}`: the document has depth 0, a concept depth 3. */
export function factsCounter(): FactsCounter {
  const taxonomies: Record<string, number> = {};
  let name: string | null = null;
  let inFacts = false;
  let hasFacts = false;
  let taxonomy: string | null = null;
  const scanner = jsonScanner(3, {
    onOpen(depth, key) {
      if (depth === 1) hasFacts ||= inFacts = key === "facts";
      if (!inFacts || key === null) return;
      if (depth === 2) {
        taxonomy = key;
        taxonomies[key] ??= 0;
      } else if (depth === 3 && taxonomy !== null) taxonomies[taxonomy]!++;
    },
    onClose(depth) {
      if (depth === 1) inFacts = false;
      if (depth === 2) taxonomy = null;
    },
    onScalar(depth, key, token) {
      if (depth === 1 && key === "entityName" && token !== "null") name = textOf(token);
    },
  });
  return {
    push: scanner.push,
    end() {
      if (!scanner.isWhole() || !hasFacts) return null;
      const concepts = Object.values(taxonomies).reduce((sum, count) => sum + count, 0);
      return { name: name === "" ? null : name, taxonomies, concepts };
    },
  };
}
