/**
 * Strings on which a regular expression is slow if it is slow on any: repetitions of what its own parts match. The parser
 * knows as much of the syntax as that takes: sequences, alternatives, classes and quantifiers.
 */

/** A part of a sequence. */
interface Term {
  /** As it stands in the pattern, without its quantifier. */
  readonly source: string;
  /** Alternatives of a group; null: a single character. */
  readonly alternatives: readonly (readonly Term[])[] | null;
  /** It takes no character: an anchor, a look-around. */
  readonly isAssertion: boolean;
  readonly min: number;
  readonly max: number;
}

/** A character of each kind that patterns tell apart, the usual ones first; nothing collapses the wide spaces before. */
const CHARS = Array.from(" \u3000a0-<.\n\u2003,\"'/:;(_=&|#»@*?![{漢A~\u0301\t\r)]}>\\$%^+`·•«¶é\u0001");
const MAX_CHARS = 6;

/** Below, a repetition is no loop. */
const MANY = 50;

function parse(pattern: string): readonly (readonly Term[])[] {
  let at = 0;
  const alternatives = (): Term[][] => {
    const all: Term[][] = [[]];
    while (at < pattern.length && pattern[at] !== ")") {
      if (pattern[at] === "|") {
        all.push([]);
        at++;
      } else all.at(-1)!.push(quantified(term()));
    }
    return all;
  };
  const term = (): Pick<Term, "source" | "alternatives" | "isAssertion"> => {
    const from = at;
    const char = pattern[at++]!;
    if (char === "(") {
      const opening = /^\(\?(?:<?[=!]|:|<[^>]*>|[a-z-]*:)/.exec(pattern.slice(from))?.[0] ?? "(";
      at = from + opening.length;
      const inner = alternatives();
      at++;
      const isAssertion = /^\(\?<?[=!]$/.test(opening);
      return { source: pattern.slice(from, at), alternatives: inner, isAssertion };
    }
    if (char === "[") {
      for (let depth = 1; depth > 0; at++) {
        if (pattern[at] === "\\") at++;
        else if (pattern[at] === "]") depth--;
      }
      return { source: pattern.slice(from, at), alternatives: null, isAssertion: false };
    }
    if (char === "\\") {
      const escape = /^\\(?:u\{[^}]*\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]*\}|k<[^>]*>|c[A-Z]|[^])/i.exec(
        pattern.slice(from),
      )![0];
      at = from + escape.length;
      return { source: escape, alternatives: null, isAssertion: /^\\[bB]$/.test(escape) };
    }
    return { source: char, alternatives: null, isAssertion: char === "^" || char === "$" };
  };
  const quantified = (bare: Pick<Term, "source" | "alternatives" | "isAssertion">): Term => {
    const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(pattern.slice(at));
    if (!found) return { ...bare, min: 1, max: 1 };
    at += found[0].length;
    const [, sign, least, comma, most] = found;
    if (sign) return { ...bare, min: sign === "+" ? 1 : 0, max: sign === "?" ? 1 : Infinity };
    const max = comma ? (most ? Number(most) : Infinity) : Number(least);
    return { ...bare, min: Number(least), max };
  };
  return alternatives();
}

/** Characters that a class or an escape matches: a few, of different kinds. */
function charsOf(source: string, flags: string): readonly string[] {
  try {
    const one = new RegExp(`^(?:${source})$`, flags.replace(/[gy]/g, ""));
    return CHARS.filter((char) => one.test(char)).slice(0, MAX_CHARS);
  } catch {
    return [];
  }
}

/** A short string that the term matches once. */
function witness({ source, alternatives, isAssertion }: Term, flags: string): string {
  if (isAssertion) return "";
  if (alternatives) return sequenceWitness(alternatives[0]!, flags);
  return charsOf(source, flags).at(0) ?? (source.length === 1 ? source : "");
}

const sequenceWitness = (terms: readonly Term[], flags: string): string =>
  terms.map((term) => witness(term, flags).repeat(Math.min(term.min, 3))).join("");

export interface Pump {
  readonly before: string;
  readonly repeated: string;
  readonly after: string;
}

/** For every loop of the pattern: what it repeats, behind what leads there, and before what ends the match. */
export function pumpsOf({ source, flags }: Pick<RegExp, "source" | "flags">): Pump[] {
  const pumps = new Map<string, Pump>();
  const add = (before: string, repeated: string): void => {
    if (repeated === "") return;
    for (const after of ["", "\u0001"])
      pumps.set(`${before}\0${repeated}\0${after}`, { before, repeated, after });
  };
  const walk = (alternatives: readonly (readonly Term[])[], lead: string): void => {
    for (const terms of alternatives) {
      let before = lead;
      for (const term of terms) {
        if (term.max >= MANY) {
          const repeats = term.alternatives
            ? term.alternatives.map((inner) => sequenceWitness(inner, flags))
            : [...charsOf(term.source, flags)];
          for (const repeated of repeats) {
            add("", repeated);
            if (before !== "") add(before, repeated);
            add("", before + repeated);
          }
          if (before !== "") add("", before);
        }
        if (term.alternatives) walk(term.alternatives, before);
        const taken = witness(term, flags);
        before += taken.repeat(Math.max(1, Math.min(term.min, 3)));
      }
    }
  };
  walk(parse(source), "");
  return [...pumps.values()];
}
