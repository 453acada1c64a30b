/**
 * Vendors of bot protection and what their pages have that ordinary pages do not, each with what shows it. A row is read by
 * challenge.ts: a header decides by itself; marks are looked for in a refusal or a small page.
 * Rows marked [K] rest on general knowledge and synthetic fixtures.
 */
import { spaced } from "./spaced.ts";

export type ChallengeKind =
  /** A browser may be let through. */
  | "challenge"
  /** A refusal. */
  | "block";

export interface Served {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** The first 64 KiB of an HTML, JSON or text body, its charset does not matter; "" for anything else. */
  readonly body_start: string;
  /** The size of the whole body. */
  readonly bytes: number;
  /** The length of the main text, 0 when it is not known. */
  readonly text_chars: number;
}

/** The parts of a body in which marks are searched. */
export interface Page extends Served {
  readonly title: string;
  /** Tags with their attributes, and scripts; of what is no HTML, everything. */
  readonly structure: string;
  /** Text that a reader sees, white space collapsed. */
  readonly text: string;
}

export interface Mark {
  readonly in: "title" | "structure" | "text";
  readonly like: RegExp;
  readonly kind: ChallengeKind;
  /** Further conditions. */
  readonly and?: (page: Page) => boolean;
  /** The longest text of a page in which a text is looked for. Default: PHRASE_CHARS. */
  readonly chars?: number;
  /** No ordinary page has it, and pages of this vendor are large: a page without text is one of them whatever its size. */
  readonly is_large?: true;
}

export interface Row {
  /** Evidence of how its pages look: the vendor's documentation, another project's rules or tests, or a page that somebody recorded. */
  readonly sources: readonly string[];
  readonly header?: (page: Page) => ChallengeKind | null;
  readonly marks: readonly Mark[];
}

export const SMALL_BYTES = 20_480;
/** The longest challenge text, of Anubis, has 1,200 characters; articles are longer. */
export const TALK_CHARS = 2_000;
/** A refusal in words has two or three sentences. */
export const PHRASE_CHARS = 800;
export const CAPTCHA_CHARS = 300;

const blocking = (page: Page) => page.status === 403 || page.status === 405 || page.status === 429;
const from = (page: Page, name: string) => page.headers.get(name)?.toLowerCase() ?? "";
/** Repeated fields are joined; a cookie is told from an attribute by what stands before it. */
const setsCookie = (page: Page, name: RegExp): boolean =>
  (page.headers.get("set-cookie") ?? "").split(/[,\n]/).some((cookie) => name.test(cookie));
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
/** Titles above such sentences: the whole title, or the whole of a heading, perhaps beside the name of the site. */
const DENIED =
  /^(?:(?:error|fehler|erreur):? ?)?(?:(?:40[13]|429)\b[ :.-]{0,4})?(?:access (?:is |has been |temporarily )?(?:denied|blocked|restricted|forbidden)|access to this (?:page|site|website|resource) (?:has been|is|was) (?:denied|blocked)|(?:403 )?forbidden|(?:your )?request (?:blocked|denied|rejected)|(?:sorry, )?you (?:have been|are) blocked|blocked|unusual traffic(?: detected)?|bot detected|too many requests|permission denied|not authori[sz]ed|zugriff (?:verweigert|gesperrt)|acc\S{1,2}s (?:refus|bloqu)\S{1,3}|acceso denegado|accesso negato)[.!]?(?: (?:[|:-]|\S{3}) [^|]{1,60})?$/i;
const HEADING = /<h[1-3]\b[^>]{0,299}>\s{0,99}([^<]{3,120})<\/h/gi;
/** Links in a refusal to one visitor, at most: it has no menu and no list of stories. */
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

/** [K] The vendor's script is told its decision: 'bv' means that not even a challenge is shown. */
function saidByDatadome({ structure }: Page): ChallengeKind {
  return /'t'\s*:\s*'bv'/.test(structure) ? "block" : "challenge";
}

/** The text as it looks when its UTF-8 is read as Latin-1, as bodies are here. */
const bytesOf = (text: string): string => Buffer.from(text).toString("latin1");
/** A page that speaks through its scripts. */
const isWordless = ({ text, text_chars }: Page): boolean => Math.max(text.length, text_chars) < 100;

export const ROWS = {
  cloudflare: {
    sources: [
      "Cloudflare Docs: Detect a Challenge Page response (cf-mitigated)",
      "EnableSecurity/wafw00f plugins/cloudflare.py",
    ],
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
    sources: ["AWS WAF Developer Guide: CAPTCHA and Challenge actions (x-amzn-waf-action)"],
    header: (page) => (/^(?:challenge|captcha)\b/.test(from(page, "x-amzn-waf-action")) ? "challenge" : null),
    marks: [{ in: "structure", like: /\bgokuProps\b/, kind: "challenge" }],
  },
  vercel: {
    sources: ["Averyy/wafer wafer/_challenge.py (x-vercel-mitigated)"],
    header: (page) => {
      const mitigation = from(page, "x-vercel-mitigated");
      return mitigation === "challenge" ? "challenge" : mitigation === "deny" ? "block" : null;
    },
    marks: [{ in: "title", like: /^vercel security checkpoint$/i, kind: "challenge" }],
  },
  akamai: {
    sources: ["EnableSecurity/wafw00f plugins/kona.py", "Averyy/wafer wafer/_challenge.py (sec-if-cpt)"],
    // [K]
    header: (page) =>
      (page.status === 428 && page.headers.has("sec-cpt")) ||
      (blocking(page) && setsCookie(page, /^\s*(?:_abck|ak_bmsc)=/))
        ? "challenge"
        : null,
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
    sources: ["Averyy/wafer wafer/_challenge.py"],
    // [K] The header is on ordinary answers of the same site, too.
    header: (page) =>
      blocking(page) &&
      (page.headers.has("x-datadome") || page.headers.has("x-dd-b") || setsCookie(page, /^\s*datadome=/))
        ? saidByDatadome(page)
        : null,
    marks: [
      {
        in: "structure",
        like: /captcha-delivery\.com\/[ci]\.js/,
        kind: "challenge",
        and: (page) => saidByDatadome(page) === "challenge" && /\bvar dd\s*=/.test(page.structure),
      },
      { in: "structure", like: /\bvar dd\s*=\s*\{[^{}]{0,999}'t'\s*:\s*'bv'/, kind: "block" },
    ],
  },
  perimeterx: {
    sources: ["Averyy/wafer wafer/_challenge.py"],
    header: (page) => (blocking(page) && setsCookie(page, /^\s*_px(?:3|hd)=/) ? "challenge" : null),
    marks: [
      { in: "structure", like: /\bid=["']?px-captcha\b/, kind: "challenge" },
      // [K]
      { in: "structure", like: /^\s*\{[^]*"appId"\s*:\s*"PX\w+"/, kind: "challenge", and: blocking },
    ],
  },
  imperva: {
    sources: ["EnableSecurity/wafw00f plugins/incapsula.py", "Averyy/wafer wafer/_challenge.py"],
    header: (page) => (blocking(page) && setsCookie(page, /^\s*(?:reese84|___utmvc)=/) ? "challenge" : null),
    marks: [
      {
        in: "structure",
        like: /<iframe\b[^<>]{0,999}_Incapsula_Resource\?[^<>]{0,999}SWUDNSAI/i,
        kind: "challenge",
      },
      // Ordinary pages of the same sites have the script, too, beside their text.
      {
        in: "structure",
        like: /<script\b[^<>]{0,999}_Incapsula_Resource\?[A-Z]{8}=|\breeseSkipExpirationCheck\b|\bonProtectionInitialized\b/i,
        kind: "challenge",
        and: ({ text, bytes }) => text.length < 100 && bytes < SMALL_BYTES,
      },
      { in: "title", like: /^pardon our interruption\b/i, kind: "challenge" },
      { in: "text", like: /\bincapsula incident id\b/i, kind: "block" },
    ],
  },
  kasada: {
    sources: ["Averyy/wafer wafer/_challenge.py"],
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
    sources: ["EnableSecurity/wafw00f plugins/sucuri.py"],
    header: (page) => (page.headers.has("x-sucuri-block") ? "block" : null),
    marks: [
      { in: "structure", like: /\bsucuri_cloudproxy_js\b/, kind: "challenge" },
      { in: "title", like: /^sucuri website firewall - access denied$/i, kind: "block" },
    ],
  },
  f5: {
    sources: ["EnableSecurity/wafw00f plugins/f5bigipasm.py"],
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
    sources: ["TecharoHQ/anubis web/index.templ", "EnableSecurity/wafw00f plugins/anubis.py"],
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
    sources: ["EnableSecurity/wafw00f plugins/ddosguard.py"],
    // [K]
    header: (page) =>
      page.status === 403 && from(page, "server").includes("ddos-guard") ? "challenge" : null,
    marks: [{ in: "structure", like: /\bcheck\.ddos-guard\.net\b/, kind: "challenge" }],
  },
  siteground: {
    sources: [
      "SiteGround: Anti-Bot AI (status 202, sg-captcha)",
      "recorded answers of 196 and 248 bytes with a meta refresh",
    ],
    header: (page) => (from(page, "sg-captcha") === "challenge" ? "challenge" : null),
    marks: [
      {
        in: "structure",
        like: /<(?:meta|script|form|iframe)\b[^<>]{0,999}\/\.well-known\/s?g?captcha\//i,
        kind: "challenge",
      },
    ],
  },
  imunify360: {
    sources: [
      "EnableSecurity/wafw00f plugins/imunify360.py",
      "Imunify360 Docs: WebShield, Anti-Bot Protection",
    ],
    marks: [
      { in: "structure", like: /\bwsidchk\b/, kind: "challenge" },
      {
        in: "title",
        like: /^one moment, please\.\.\.$/i,
        kind: "challenge",
        and: ({ text }) => /\brequest is being verified\b/i.test(text),
      },
      { in: "text", like: /\baccess denied by imunify360 bot-protection\b/i, kind: "block" },
    ],
  },
  litespeed: {
    sources: [
      "manga-download/haruneko web/src/engine/websites/MangaLink.ts",
      "LiteSpeed Docs: reCAPTCHA protection",
    ],
    marks: [
      { in: "structure", like: /\bid=["']?lsrecaptcha-form\b|\/\.lsrecap\/recaptcha\b/, kind: "challenge" },
    ],
  },
  wordfence: {
    sources: [
      "WordPress plugin wordfence: lib/wf503.php, waf/wfWAF403.php",
      "EnableSecurity/wafw00f plugins/wordfence.py",
    ],
    marks: [
      {
        in: "text",
        like: /\bgenerated by wordfence\b/i,
        kind: "block",
        chars: TALK_CHARS,
        and: ({ text }) =>
          /\byour access to this (?:site|service) has been limited\b|\ba potentially unsafe operation has been detected\b/i.test(
            text,
          ),
      },
    ],
  },
  fastly: {
    sources: ["groktopus/groktocrawl#586", "Fastly Docs: Bot Management, client challenges"],
    // Ordinary pages may load the script, too.
    marks: [
      {
        in: "title",
        like: /^client challenge$/i,
        kind: "challenge",
        and: ({ structure }) => structure.includes("/_fs-ch-"),
      },
    ],
  },
  aliyun: {
    sources: [
      "EnableSecurity/wafw00f plugins/aliyundun.py",
      "Averyy/wafer wafer/_challenge.py (acw_sc__v2, _____tmd_____)",
    ],
    marks: [
      {
        in: "structure",
        like: /\bacw_sc__v[23]\b/,
        kind: "challenge",
        and: ({ structure }) => /\bvar arg1\s*=/.test(structure),
      },
      {
        in: "structure",
        like: /\baliyun_waf_aa\b|\b_waf_is_mobile\b/,
        kind: "challenge",
        and: isWordless,
      },
      {
        in: "structure",
        like: /\/_____tmd_____\/punish\b|\bx5secdata\b/,
        kind: "challenge",
        and: ({ text }) => text.length < CAPTCHA_CHARS,
        is_large: true,
      },
      {
        in: "structure",
        like: /\berrors?\.aliyun(?:dun)?\.com\b/,
        kind: "block",
        and: blocking,
      },
    ],
  },
  amazon: {
    sources: [
      "Averyy/wafer wafer/_challenge.py (/errors/validateCaptcha)",
      "the page 503 of amazon.com (ref=cs_503_link)",
    ],
    marks: [
      { in: "structure", like: /<form\b[^<>]{0,999}\/errors\/validateCaptcha\b/i, kind: "challenge" },
      {
        in: "structure",
        like: /\bref=cs_503_(?:link|logo)\b/,
        kind: "challenge",
        and: ({ status }) => status === 503,
      },
    ],
  },
  reddit: {
    sources: ["redlib-org/redlib#217", "asadm/markdowndown#5", "jina-ai/reader#1226"],
    marks: [
      {
        in: "text",
        like: /\b(?:been blocked by network security|your request has been blocked due to a network policy)\b/i,
        kind: "block",
        chars: TALK_CHARS,
        and: ({ text, structure }) => /\breddit\b/i.test(text) || structure.includes("reddit"),
      },
    ],
  },
  testcookie: {
    sources: ["kyprizel/testcookie-nginx-module README (testcookie_refresh_template)"],
    marks: [
      {
        in: "structure",
        like: /\bslowAES\.decrypt\(/,
        kind: "challenge",
        and: ({ structure }) => /\bdocument\.cookie\s*=/.test(structure),
      },
    ],
  },
  shape: {
    sources: ["Averyy/wafer wafer/browser/_shape.py (istlWasHere, status 200)"],
    marks: [{ in: "structure", like: /\bistlWasHere\b/, kind: "challenge", and: isWordless, is_large: true }],
  },
  radware: {
    sources: ["recorded pages with the title Radware Captcha Page at validate.perfdrive.com"],
    marks: [
      {
        in: "title",
        like: /^(?:radware(?: bot manager)?|shieldsquare)(?: captcha)?(?: page)?$/i,
        kind: "challenge",
      },
      {
        in: "text",
        like: /\byour activity and behavior on this site made us think that you are a bot\b/i,
        kind: "challenge",
        and: ({ structure }) => structure.includes("perfdrive.com"),
      },
    ],
  },
  qrator: {
    sources: ["recorded pages with the script /__qrator/qauth_utm_v2.js, status 401 or 200"],
    header: (page) => (blocking(page) && from(page, "server") === "qrator" ? "block" : null),
    marks: [
      {
        in: "structure",
        like: /<script\b[^<>]{0,999}\/__qrator\/qauth/i,
        kind: "challenge",
        and: isWordless,
      },
    ],
  },
  yandex_smartcaptcha: {
    sources: [
      "searxng/searxng#5417 (x-yandex-captcha)",
      "a recorded page with the form checkbox-captcha-form",
    ],
    header: (page) => (from(page, "x-yandex-captcha") === "captcha" ? "challenge" : null),
    marks: [
      {
        in: "structure",
        like: /<form\b[^<>]{0,999}(?:\/checkcaptcha\?|\bid=["']?(?:checkbox|advanced)-captcha-form\b)/i,
        kind: "challenge",
      },
    ],
  },
  baidu: {
    sources: [
      "searxng/searxng searx/engines/baidu.py (wappass.baidu.com)",
      "a recorded page with the title 百度安全验证",
    ],
    marks: [{ in: "title", like: new RegExp(`^${bytesOf("百度安全验证")}$`), kind: "challenge" }],
  },
  go_away: {
    sources: [
      "git.gammaspectra.live/git/go-away embed/templates",
      "mpv-easy/mpv-easy-cdn redshift_toggle.lua (a recorded page)",
    ],
    marks: [
      {
        in: "structure",
        like: /\/\.well-known\/\.git\.gammaspectra\.live\/git\/go-away\/|\b__goaway_challenge\b/,
        kind: "challenge",
      },
    ],
  },
  bunny_shield: {
    sources: ["bunny.net /.bunny-shield/assets/shield-challenge.js"],
    marks: [
      { in: "structure", like: /\/\.bunny-shield\/assets\/(?:shield-)?challenge\b/, kind: "challenge" },
      {
        in: "title",
        like: /^establishing a secure connection\b/i,
        kind: "challenge",
        and: ({ structure }) => structure.includes(".bunny-shield"),
      },
    ],
  },
  arvancloud: {
    sources: [
      "EnableSecurity/wafw00f plugins/arvancloud.py",
      "recorded pages of irna.ir (Transferring to the website..., __arcsjs)",
    ],
    marks: [{ in: "structure", like: /\b__arcsjsc?\b/, kind: "challenge", and: isWordless }],
  },
  edgeone: {
    sources: ["recorded pages of Tencent EdgeOne (EO_Bot_Ssid, __tst_status), 987 bytes, status 200"],
    marks: [
      { in: "structure", like: /\bEO_Bot_Ssid\b|\b__tst_status\b/, kind: "challenge", and: isWordless },
    ],
  },
  captcha: { sources: ["the widgets of reCAPTCHA, hCaptcha, Turnstile and Arkose"], marks: [] },
  // A refusal of any vendor that says status 200.
  access_denied: {
    sources: ["pages of many vendors in seven languages"],
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
