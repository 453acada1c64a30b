/**
 * Recognises pages of bot protection and their vendor. Challenges are never solved: the ladder tries the next route, and
 * a refusal is not worked around.
 *
 * A decisive header comes first; then marks in the body, on an answer that is a refusal by its status or small;
 * then, by any vendor, a page that is little more than a captcha. Marks that ordinary pages carry too (Cloudflare's
 * scripts are on 3.5 % of them, reCAPTCHA on 6.5 %) are never enough, and words in running text never are: marks
 * are searched in tags, scripts and the title, phrases only in pages with little other text.
 */
import {
  CAPTCHA_CHARS,
  type ChallengeKind,
  type Page,
  PHRASE_CHARS,
  type Row,
  ROWS,
  type Served,
  SMALL_BYTES,
  TALK_CHARS,
  type Vendor,
} from "./challenge-rows.ts";
import { spaced } from "./spaced.ts";

export interface Challenge {
  readonly vendor: Vendor;
  readonly kind: ChallengeKind;
}

const VENDOR_ROWS = Object.entries(ROWS) as readonly (readonly [Vendor, Row])[];

/** Statuses with which bot protection refuses or delays a request. */
const REFUSALS: ReadonlySet<number> = new Set([202, 401, 403, 405, 428, 429, 503]);

// Every repetition has a bound, so that a body of one endless tag does not block the event loop for a second.
const WIDGET =
  /<[a-z][^<>]{0,299}\b(?:class|id)=["']?[^"'<>]{0,99}\b(?:g-recaptcha|h-captcha|cf-turnstile|arkose|funcaptcha)\b/i;
const OTHER_CONTROLS = /<select\b|<input\b(?![^<>]{0,999}\btype=["']?(?:hidden|submit|button)\b)/i;

export function challengeOf(served: Served): Challenge | null {
  const page = readParts(served);
  for (const [vendor, { header }] of VENDOR_ROWS) {
    const kind = header?.(page);
    if (kind) return { vendor, kind };
  }
  if (page.body_start === "") return null;
  const isSmall = (): boolean =>
    page.bytes < SMALL_BYTES && page.text_chars < TALK_CHARS && page.text.length < TALK_CHARS;
  const isSuspect = REFUSALS.has(page.status) || isSmall();
  for (const [vendor, { marks }] of VENDOR_ROWS) {
    for (const mark of marks) {
      if (!isSuspect && !(mark.is_large && page.text_chars < CAPTCHA_CHARS)) continue;
      if (mark.in === "text" && page.text.length > (mark.chars ?? PHRASE_CHARS)) continue;
      if (mark.like.test(page[mark.in]) && (mark.and?.(page) ?? true)) return { vendor, kind: mark.kind };
    }
  }
  return isCaptcha(page) ? { vendor: "captcha", kind: "challenge" } : null;
}

/** With its parts, which are read when the first of them is looked at: most pages are too large for any mark. */
function readParts(served: Served): Page {
  let parts: ReturnType<typeof partsOf> | null = null;
  const read = () => (parts ??= partsOf(served.body_start));
  return {
    ...served,
    get title() {
      return read().title;
    },
    get structure() {
      return read().structure;
    },
    get text() {
      return read().text;
    },
  };
}

/** A page with a captcha widget, little text, and no other input fields (a protected form has such fields). */
function isCaptcha(page: Page): boolean {
  return (
    page.bytes < SMALL_BYTES &&
    page.text_chars < CAPTCHA_CHARS &&
    // Only now, because its parts are read for it.
    page.text.length < CAPTCHA_CHARS &&
    WIDGET.test(page.structure) &&
    !OTHER_CONTROLS.test(page.structure)
  );
}

const UNSEEN = { script: /<\/script/gi, style: /<\/style/gi, title: /<\/title/gi, noscript: /<\/noscript/gi };
const UNSEEN_TAG = /^<(script|style|title|noscript)\b/i;

/** A single pass without a parser: 64 KiB take a fraction of a millisecond, and a truncated page is no problem. */
function partsOf(body: string): Pick<Page, "title" | "structure" | "text"> {
  if (!/<\w/.test(body)) return { title: "", structure: body, text: spaced(body) };
  let title = "";
  let structure = "";
  let text = "";
  for (let at = 0; at < body.length;) {
    const open = body.indexOf("<", at);
    text += body.slice(at, open < 0 ? body.length : open) + " ";
    if (open < 0) break;
    const comment = body.startsWith("<!--", open);
    const close = body.indexOf(comment ? "-->" : ">", open);
    const end = close < 0 ? body.length : close + (comment ? 3 : 1);
    if (!comment) structure += body.slice(open, end);
    at = end;
    const name = UNSEEN_TAG.exec(body.slice(open, open + 10))?.[1]!.toLowerCase() as keyof typeof UNSEEN;
    if (!name) continue;
    const closing = UNSEEN[name];
    closing.lastIndex = end;
    at = closing.exec(body)?.index ?? body.length;
    const inner = body.slice(end, at);
    if (name === "title") title ||= spaced(inner);
    else if (name !== "style") structure += inner;
  }
  return { title, structure, text: spaced(text) };
}
