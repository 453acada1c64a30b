/**
 * Notices that news sites in Chinese print below every article: disclaimers, terms of reprinting, and how to reach the editors. They are
 * prose between the article and its comments, often longer than the article, and are never its text. Not on a page about such terms.
 */
import { codeAt } from "../content/code-at.ts";
import { extraChars } from "../content/comparable-chars.ts";
import type { Line } from "./lines.ts";

const JUDGED_CHARS = 300;
/**
 * Phrases of which one is enough, and a claim of rights with its consequence, counted from the last claim before it, so that a line
 * of nothing but claims takes time in its length.
 */
const NOTICE =
  /^.{0,6}(?:免责声明|免責聲明|版权声明|版權聲明)|凡(?:本网|本網|本站)?(?:注明|註明)|不代表本(?:网|網|站|报|報|刊)|(?:构成|構成)投(?:资|資)|(?:版权|版權|未经|未經)(?:(?!版权|版權|未经|未經).){0,80}?(?:转载|轉載|授权|授權|许可|許可)/;
const SHORT_HEADING = /^.{0,8}(?:声明|聲明)[：:]?$/;
const CONTACT = /电话|電話|传真|傳真|热线|熱線|邮箱|郵箱|信箱|邮编|郵編|@/;
const CONTACT_CHARS_MAX = 250;
/** Ways to reach the editors stand at most so many lines below a notice. */
const CONTACT_LINES = 4;
const ABOUT_TERMS = /声明|聲明|条款|條款|协议|協議|隐私|隱私|版权|版權/;

const isDense = ({ text, chars }: Line): boolean => {
  if (chars === text.length) return false;
  const length = Math.min(text.length, JUDGED_CHARS);
  for (let i = 0; i < length; i += 1) if (extraChars(codeAt(text, i)) > 0) return true;
  return false;
};

/** 1 for each line that is a notice, the heading directly above it, or a way to reach the editors below it. */
export function findNotices(lines: readonly Line[], title: string): Uint8Array {
  const found = new Uint8Array(lines.length);
  if (ABOUT_TERMS.test(title)) return found;
  for (const [i, line] of lines.entries()) {
    if (!isDense(line) || !NOTICE.test(line.text.slice(0, JUDGED_CHARS))) continue;
    found[i] = 1;
    if (i > 0 && SHORT_HEADING.test(lines[i - 1]!.text)) found[i - 1] = 1;
    for (let j = i + 1; j < lines.length && j <= i + CONTACT_LINES; j += 1)
      if (lines[j]!.chars <= CONTACT_CHARS_MAX && CONTACT.test(lines[j]!.text)) found[j] = 1;
  }
  return found;
}
