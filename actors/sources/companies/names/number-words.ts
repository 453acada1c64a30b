/** Numbers in names, however they are written: `Forty-Four`, `1st`, `III` become digits. Pure. */

const ONES =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(
    " ",
  );
const ORDINALS =
  "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(" ");
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

const WORDS: ReadonlyMap<string, number> = new Map([
  ...ONES.map((word, value) => [word, value] as const),
  ...ORDINALS.map((word, value) => [word, value] as const),
  ...TENS.map((word, at) => [word, (at + 2) * 10] as const),
  ["hundred", 100],
]);

/** 2 to 39. A lone `i` or `x` is more often a letter. */
const ROMAN = /^(?=[ivx]{2}|v$)(x{0,3})(ix|iv|v?i{0,3})$/;

function romanValue(word: string): number | null {
  const parts = ROMAN.exec(word);
  if (parts === null) return null;
  const ones = { ix: 9, iv: 4 }[parts[2]!] ?? parts[2]!.replace("v", "iiiii").length;
  return parts[1]!.length * 10 + ones;
}

function valueOf(word: string): number | null {
  if (word[0]! <= "9") {
    const ordinal = /^([0-9]+)(?:st|nd|rd|th)$/.exec(word);
    if (ordinal) return Number(ordinal[1]);
  }
  return WORDS.get(word) ?? romanValue(word);
}

export function withDigits(words: readonly string[]): readonly string[] {
  const result: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    const value = valueOf(word);
    if (value === null) {
      result.push(word);
      continue;
    }
    const next = WORDS.get(words[at + 1] ?? "");
    const isCompound = TENS.includes(word) && next !== undefined && next > 0 && next < 10;
    result.push(String(isCompound ? value + next : value));
    if (isCompound) at++;
  }
  return result;
}
