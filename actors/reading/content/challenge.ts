/**
 * Recognises pages of bot protection and their vendor. Challenges are never solved: the ladder tries the next route, and
 * a refusal is not worked around.
 *
 * A decisive header comes first; then marks in the body, on an answer that is a refusal by its status or small;
 * then, by any vendor, a page that is little more than a captcha. Marks that ordinary pages carry too (Cloudflare's
 * scripts are on 3.5 % of them, reCAPTCHA on 6.5 %) are never enough, and words in running text never are: marks
 * are searched in tags, scripts and the title, phrases only in pages with little other text.
 * Rows marked [K] rest on general knowledge and synthetic fixtures.
 */
export type ChallengeKind =
  /** A browser may be let through. */
  | "challenge"
  /** A refusal. */
  | "block";

export interface Challenge {
  readonly vendor: Vendor;
  readonly kind: ChallengeKind;
}

export interface Served {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** The first 64 KiB of an HTML, JSON or text body, its charset does not matter; "" for anything else. */
  readonly body_start: string;
  /** Of the whole body. */
  readonly bytes: number;
  /** Of the main text, 0 when it is not known. */
  readonly text_chars: number;
}

/** The parts of a body in which marks are searched. */
interface Page extends Served {
  readonly title: string;
  /** Tags with their attributes, and scripts; of what is no HTML, everything. */
  readonly structure: string;
  /** What a reader sees, white space collapsed. */
  readonly text: string;
}

interface Mark {
  readonly in: "title" | "structure" | "text";
  readonly like: RegExp;
  readonly kind: ChallengeKind;
  /** Further conditions. */
  readonly and?: (page: Page) => boolean;
}

interface Row {
  readonly header?: (page: Page) => ChallengeKind | null;
  readonly marks: readonly Mark[];
}

/** Statuses with which bot protection refuses or delays a request. */
const REFUSALS: ReadonlySet<number> = new Set([202, 401, 403, 405, 428, 429, 503]);
const SMALL_BYTES = 20_480;
/** The longest challenge text, of Anubis, has 1,200 characters; articles are longer. */
const TALK_CHARS = 2_000;
/** A refusal in words has two or three sentences. */
const PHRASE_CHARS = 800;
const CAPTCHA_CHARS = 300;

const blocking = (page: Page) => page.status === 403 || page.status === 405 || page.status === 429;
const from = (page: Page, name: string) => page.headers.get(name)?.toLowerCase() ?? "";
const byCloudflare = (page: Page) =>
  from(page, "server").includes("cloudflare") ||
  page.headers.has("cf-ray") ||
  /\/cdn-cgi\/|\bcf-error-|\bdata-cf-/.test(page.structure);

/**
 * Sentences with which a page refuses its visitor; articles about refusals have them as well. Characters outside ASCII are `\S`, as
 * the charset is not known.
 */
const REFUSED_VISITOR = new RegExp(
  [
    String.raw`\byou (?:have been|are|were) (?:temporarily |permanently )?(?:blocked|banned|denied access)\b`,
    String.raw`\byour (?:access|ip(?: address)?|request|connection|browser|network|session)(?: \S{1,60})? (?:has been|have been|was|is|were) (?:temporarily |permanently |automatically )?(?:blocked|banned|denied|rejected|refused|flagged|restricted)\b`,
    String.raw`\b(?:access|request)(?: \S{1,40}){0,5} (?:has been|was|is) (?:temporarily |permanently |automatically )?(?:blocked|denied|refused|restricted)\b`,
    String.raw`\b(?:do not|don\S{1,3}t) have (?:permission|authorization) to (?:access|view)\b`,
    String.raw`\b(?:unusual|suspicious|automated|bot)(?: \S{1,20})? (?:traffic|activity|requests|access)\b`,
    String.raw`\bsie (?:wurden|sind) (?:\S{1,20} )?(?:blockiert|gesperrt)\b|\b(?:ihre ip(?:-adresse)?|ihr zugriff|ihre anfrage) (?:wurde|ist) (?:\S{1,20} )?(?:blockiert|gesperrt|abgelehnt|verweigert)\b`,
    String.raw`\bvous avez \S{2,6} bloqu|\bvotre (?:acc\S{1,2}s|adresse ip|requ\S{1,2}te) a \S{2,6} (?:bloqu|refus|rejet)`,
    String.raw`\b(?:ha sido|has sido|fue) bloquead[oa]\b|\bno tiene permiso para acceder\b|\b(?:sei stato|\S{1,2} stat[oa]) bloccat[oa]\b`,
  ].join("|"),
  "i",
);
/** What stands above them: the whole title, or the whole of a heading, perhaps beside the name of the site. */
const DENIED =
  /^(?:(?:error|fehler|erreur):? ?)?(?:(?:40[13]|429)\b[ :.-]{0,4})?(?:access (?:is |has been |temporarily )?(?:denied|blocked|restricted|forbidden)|access to this (?:page|site|website|resource) (?:has been|is|was) (?:denied|blocked)|(?:403 )?forbidden|(?:your )?request (?:blocked|denied|rejected)|(?:sorry, )?you (?:have been|are) blocked|blocked|unusual traffic(?: detected)?|bot detected|too many requests|permission denied|not authori[sz]ed|zugriff (?:verweigert|gesperrt)|acc\S{1,2}s (?:refus|bloqu)\S{1,3}|acceso denegado|accesso negato)[.!]?(?: (?:[|:-]|\S{3}) [^|]{1,60})?$/i;
const HEADING = /<h[1-3]\b[^>]{0,299}>\s{0,99}([^<]{3,120})<\/h/gi;
/** Of a refusal to one visitor: it has no menu and no list of stories. */
const MAX_DENIAL_LINKS = 5;

function isDenial({ status, title, body_start, structure, text, text_chars }: Page): boolean {
  if (status < 200 || status > 299 || Math.max(text.length, text_chars) > PHRASE_CHARS) return false;
  if ((structure.match(/<a\s/gi)?.length ?? 0) > MAX_DENIAL_LINKS) return false;
  return DENIED.test(title) || hasDeniedHeading({ status, body_start });
}

const hasDeniedHeading = ({ status, body_start }: Pick<Page, "status" | "body_start">): boolean =>
  status >= 200 &&
  status <= 299 &&
  [...body_start.matchAll(HEADING)].some(([, heading]) => DENIED.test(spaced(heading!)));

const ROWS = {
  cloudflare: {
    header: (page) => (from(page, "cf-mitigated").includes("challenge") ? "challenge" : null),
    marks: [
      {
        in: "structure",
        like: /\b_cf_chl_opt\b|\/challenge-platform\/h\/\w+\/orchestrate\//,
        kind: "challenge",
      },
      { in: "title", like: /^just a moment\.\.\.$/i, kind: "challenge" },
      { in: "structure", like: /id=["']?challenge-form\b/, kind: "challenge", and: byCloudflare },
      { in: "title", like: /^attention required! \| cloudflare$/i, kind: "block" },
      { in: "title", like: / used cloudflare to restrict access$/i, kind: "block" },
      { in: "text", like: /^error code: 10\d\d$/i, kind: "block", and: ({ status }) => status >= 400 },
      { in: "text", like: /\berror(?: code:)? 10(?:0[5-9]|1[0-5]|20)\b/i, kind: "block", and: byCloudflare },
    ],
  },
  aws_waf: {
    header: (page) => (/^(?:challenge|captcha)\b/.test(from(page, "x-amzn-waf-action")) ? "challenge" : null),
    marks: [{ in: "structure", like: /\bgokuProps\b/, kind: "challenge" }],
  },
  vercel: {
    header: (page) => {
      const mitigation = from(page, "x-vercel-mitigated");
      return mitigation === "challenge" ? "challenge" : mitigation === "deny" ? "block" : null;
    },
    marks: [{ in: "title", like: /^vercel security checkpoint$/i, kind: "challenge" }],
  },
  akamai: {
    // [K]
    header: (page) => (page.status === 428 && page.headers.has("sec-cpt") ? "challenge" : null),
    marks: [
      { in: "structure", like: /\bsec-if-cpt-container\b|\bbm-verify\b/, kind: "challenge" },
      {
        in: "title",
        like: /^access denied$/i,
        kind: "block",
        and: ({ text }) => /reference #[\da-f]+\.[\da-f.]+|errors\.edgesuite\.net/i.test(text),
      },
    ],
  },
  datadome: {
    // [K] The header is on ordinary answers of the same site, too.
    header: (page) =>
      blocking(page) && (page.headers.has("x-datadome") || page.headers.has("x-dd-b"))
        ? saidByDatadome(page)
        : null,
    marks: [
      {
        in: "structure",
        like: /captcha-delivery\.com\/[ci]\.js/,
        kind: "challenge",
        and: (page) => saidByDatadome(page) === "challenge" && /\bvar dd\s*=/.test(page.structure),
      },
      { in: "structure", like: /\bvar dd\s*=\s*\{[^}]{0,999}'t'\s*:\s*'bv'/, kind: "block" },
    ],
  },
  perimeterx: {
    marks: [
      { in: "structure", like: /\bid=["']?px-captcha\b/, kind: "challenge" },
      // [K]
      { in: "structure", like: /^\s*\{[^]*"appId"\s*:\s*"PX\w+"/, kind: "challenge", and: blocking },
    ],
  },
  imperva: {
    marks: [
      {
        in: "structure",
        like: /<iframe\b[^<>]{0,999}_Incapsula_Resource\?[^<>]{0,999}SWUDNSAI/i,
        kind: "challenge",
      },
      // Ordinary pages of the same sites have the script, too, beside their text.
      {
        in: "structure",
        like: /<script\b[^<>]{0,999}_Incapsula_Resource\?SWJIYLWA=/i,
        kind: "challenge",
        and: ({ text, bytes }) => text.length < 100 && bytes < SMALL_BYTES,
      },
      { in: "title", like: /^pardon our interruption\b/i, kind: "challenge" },
      { in: "text", like: /\bincapsula incident id\b/i, kind: "block" },
    ],
  },
  kasada: {
    // [K]
    header: (page) =>
      page.status === 429 && [...page.headers.keys()].some((name) => name.startsWith("x-kpsdk-"))
        ? "challenge"
        : null,
    // [K] A page of scripts without a word; full pages carry KPSDK as well.
    marks: [
      {
        in: "structure",
        like: /\bKPSDK\b|\/ips\.js\b/,
        kind: "challenge",
        and: ({ text, bytes }) => text.length < 100 && bytes < SMALL_BYTES,
      },
    ],
  },
  sucuri: {
    header: (page) => (page.headers.has("x-sucuri-block") ? "block" : null),
    marks: [
      { in: "structure", like: /\bsucuri_cloudproxy_js\b/, kind: "challenge" },
      { in: "title", like: /^sucuri website firewall - access denied$/i, kind: "block" },
    ],
  },
  f5: {
    marks: [
      {
        in: "text",
        like: /the requested url was rejected\. please consult with your administrator/i,
        kind: "block",
      },
      {
        in: "structure",
        like: /["'(]\/TSPD\//,
        kind: "challenge",
        and: ({ text }) => text.length < CAPTCHA_CHARS,
      },
    ],
  },
  anubis: {
    // [K] With status 200 unless its operator changed that.
    marks: [
      {
        in: "structure",
        like: /\bid=["']?anubis_challenge\b|\/\.within\.website\/x\/cmd\/anubis\//,
        kind: "challenge",
      },
    ],
  },
  ddos_guard: {
    // [K]
    header: (page) =>
      page.status === 403 && from(page, "server").includes("ddos-guard") ? "challenge" : null,
    marks: [{ in: "structure", like: /\bcheck\.ddos-guard\.net\b/, kind: "challenge" }],
  },
  captcha: { marks: [] },
  // A refusal of any vendor that says status 200.
  access_denied: {
    marks: [
      { in: "text", like: REFUSED_VISITOR, kind: "block", and: isDenial },
      // Nothing but the heading, and perhaps the name of the server.
      {
        in: "title",
        like: DENIED,
        kind: "block",
        and: (page) => page.text.length < 60 && hasDeniedHeading(page),
      },
    ],
  },
} as const satisfies Record<string, Row>;

export type Vendor = keyof typeof ROWS;

/** All vendors; each has a reason `challenge_<vendor>`. */
export const VENDORS = Object.keys(ROWS) as readonly Vendor[];

// Every repetition has a bound, so that a body of one endless tag does not block the event loop for a second.
const WIDGET =
  /<[a-z][^<>]{0,299}\b(?:class|id)=["']?[^"'<>]{0,99}\b(?:g-recaptcha|h-captcha|cf-turnstile|arkose|funcaptcha)\b/i;
const OTHER_CONTROLS = /<select\b|<input\b(?![^<>]{0,999}\btype=["']?(?:hidden|submit|button)\b)/i;

export function challengeOf(served: Served): Challenge | null {
  const page = readParts(served);
  const rows = Object.entries(ROWS) as [Vendor, Row][];
  for (const [vendor, { header }] of rows) {
    const kind = header?.(page);
    if (kind) return { vendor, kind };
  }
  const refused = REFUSALS.has(page.status);
  const isSmall = (): boolean =>
    page.bytes < SMALL_BYTES && page.text_chars < TALK_CHARS && page.text.length < TALK_CHARS;
  if (page.body_start === "" || !(refused || isSmall())) return null;
  for (const [vendor, { marks }] of rows) {
    for (const mark of marks) {
      if (mark.in === "text" && page.text.length > PHRASE_CHARS) continue;
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
    Math.max(page.text.length, page.text_chars) < CAPTCHA_CHARS &&
    WIDGET.test(page.structure) &&
    !OTHER_CONTROLS.test(page.structure)
  );
}

/** [K] The vendor's script is told its decision: 'bv' means that not even a challenge is shown. */
function saidByDatadome({ structure }: Page): ChallengeKind {
  return /'t'\s*:\s*'bv'/.test(structure) ? "block" : "challenge";
}

const UNSEEN = { script: /<\/script/gi, style: /<\/style/gi, title: /<\/title/gi, noscript: /<\/noscript/gi };
const UNSEEN_TAG = /^<(script|style|title|noscript)\b/i;

/** One pass without a parser: 64 KiB take a fraction of a millisecond, and a truncated page is no problem. */
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

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " " };

/** Akamai writes even the full stops of its reference number as `&#46;`. */
function spaced(text: string): string {
  return text
    .replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|(amp|lt|gt|quot|nbsp));/gi, (_, decimal, hex, name: string) =>
      name ? NAMED[name.toLowerCase()]! : String.fromCodePoint(decimal ? Number(decimal) : parseInt(hex, 16)),
    )
    .replace(/\s+/g, " ")
    .trim();
}
