/**
 * A list of names that are looked up where they stand in the HTML, in any case. What is found is the list's own string,
 * which V8 compares with the strings of the source code by its address; slices of the HTML are compared character by character.
 */
export class KnownNames {
  readonly #byHash = new Map<number, string>();

  constructor(names: Iterable<string>) {
    // V8 keeps property names as one string each, as it does the literals of the source.
    for (const name of Object.keys(Object.fromEntries(Array.from(names, (each) => [each, true])))) {
      const hash = hashOf(name, 0, name.length);
      if (this.#byHash.has(hash)) throw new Error(`Cannot list "${name}": its hash is taken`);
      this.#byHash.set(hash, name);
    }
  }

  /** The listed name that stands there, in lower case, or undefined. */
  find(html: string, start: number, stop: number): string | undefined {
    const known = this.#byHash.get(hashOf(html, start, stop));
    if (known === undefined || known.length !== stop - start) return undefined;
    for (let i = 0; i < known.length; i += 1) {
      const code = html.charCodeAt(start + i);
      const lower = code >= 65 && code <= 90 ? code + 32 : code;
      if (lower !== known.charCodeAt(i)) return undefined;
    }
    return known;
  }
}

/** The hash is the same for upper and lower case. */
function hashOf(text: string, start: number, stop: number): number {
  let hash = stop - start;
  for (let i = start; i < stop; i += 1)
    hash = (Math.imul(hash, 31) + (text.charCodeAt(i) | 32)) & 0x3fff_ffff;
  return hash;
}
