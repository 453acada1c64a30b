/** The client of trawl-client without asyncio, made of the one with it, word by word, so that both are one program. */

const HEAD = '"""The client that waits. Made of `_async.py` by `npm run clients`: changes are lost."""';

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^"""[^]*?"""/, HEAD],
  [/\bimport asyncio\b/g, "import time"],
  [/\basyncio\.sleep\b/g, "time.sleep"],
  [/\basync (?=def|for|with)/g, ""],
  [/\bawait /g, ""],
  [/\b__a(enter|exit|iter)__/g, "__$1__"],
  [/\ba(close|read|iter_bytes)\b/g, "$1"],
  [/\b(_?)Async(?=[A-Z])/g, "$1"],
  [/ async (?=for )/g, " "],
];

export const pythonSync = (source: string): string =>
  WORDS.reduce((text, [word, other]) => text.replace(word, other), source);
