/**
 * The language of a page: as it declares it, unless its text says otherwise. Templates declare English whatever is written in them,
 * and a text cannot be in a language that has another script. The detector takes 60 MB of memory, so a process loads it
 * with the first page that needs it.
 */
import type { eld } from "eld/extrasmall";

const WORDS = /(?<![\p{L}\p{N}])(?:\p{L}[\p{L}\p{M}'’]+|a)(?![\p{L}\p{N}])/gu;
const DETECTED_CHARS_MIN = 40;
const DETECTED_CHARS_MAX = 1_000;
/** Below this share of its commonest words a text is hardly English: they are about a fifth of its prose. */
const ENGLISH_SHARE = 0.08;
const ENGLISH = new Set("the and of to in is for a on with".split(" "));
export const isCommonEnglish = (word: string): boolean => word.length < 5 && ENGLISH.has(word.toLowerCase());

/** Languages that are written in these scripts alone. */
const SCRIPTS: readonly (readonly [script: RegExp, languages: ReadonlySet<string>])[] = [
  [
    /\p{Script=Cyrillic}/gu,
    new Set("ru uk be bg mk sr kk ky mn tg tt ba cv os ce sah tyv uz bs az".split(" ")),
  ],
  [/\p{Script=Greek}/gu, new Set(["el", "grc"])],
  [/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu, new Set(["zh", "ja", "yue", "ko", "wuu"])],
  [/\p{Script=Hangul}/gu, new Set(["ko"])],
  [/\p{Script=Arabic}/gu, new Set("ar fa ur ps sd ug ckb ku ks pa arz ary uz az".split(" "))],
  [/\p{Script=Hebrew}/gu, new Set(["he", "yi"])],
  [/\p{Script=Thai}/gu, new Set(["th"])],
  [/\p{Script=Devanagari}/gu, new Set("hi mr ne sa kok mai bho ks sd doi brx".split(" "))],
];
/** Languages that a detector takes for each other; between them the page's own word counts. */
const RELATED: readonly ReadonlySet<string>[] = [
  new Set(["no", "nb", "nn", "da"]),
  new Set(["hr", "sr", "bs", "sh"]),
  new Set(["id", "ms"]),
  new Set(["zh", "yue", "wuu"]),
  new Set(["tl", "fil"]),
];

let detector: typeof eld | null = null;

export async function loadDetector(): Promise<void> {
  detector ??= (await import("eld/extrasmall")).eld;
}

const baseOf = (tag: string): string => tag.split("-", 1)[0]!.toLowerCase();

/** Whether the text can be in the language: by its script, and for English by its words. */
function agrees(language: string, text: string): boolean {
  const base = baseOf(language);
  // No script of the list has a character below this.
  if (/[\u0370-\uffff]/.test(text)) {
    const letters = text.match(/\p{L}/gu)?.length ?? 0;
    for (const [script, languages] of SCRIPTS) {
      const share = (text.match(script)?.length ?? 0) / (letters || 1);
      if (share > 0.5 && !languages.has(base)) return false;
    }
  }
  if (base !== "en") return true;
  const words = text.split(" ");
  return words.filter(isCommonEnglish).length >= ENGLISH_SHARE * words.length;
}

interface PageLanguage {
  /** BCP 47, or null. */
  readonly language: string | null;
  /** The text should be looked at by the detector, which is not loaded. */
  readonly needs_detector: boolean;
}

/** The declared language where the text agrees with it, else the text's own. */
export function languageOf(declared: string | null, whole: string): PageLanguage {
  // Numbers, units and model names are in no language.
  const text = whole.slice(0, DETECTED_CHARS_MAX).match(WORDS)?.join(" ") ?? "";
  if (text.length < DETECTED_CHARS_MIN || (declared !== null && agrees(declared, text)))
    return { language: declared, needs_detector: false };
  if (detector === null) return { language: declared, needs_detector: true };
  const found = detector.detect(text);
  if (found.language === "" || !found.isReliable()) return { language: declared, needs_detector: false };
  const isSame =
    declared !== null &&
    (baseOf(declared) === found.language ||
      RELATED.some((related) => related.has(baseOf(declared)) && related.has(found.language)));
  return { language: isSame ? declared : found.language, needs_detector: false };
}
