/**
 * Signals that a page's text is sold, and what they come to. A paywall is detected, never circumvented: nothing here
 * hands out text. A declared paywall alone is metered, because most pages that declare one carry their full text;
 * `hard` needs evidence that the text was cut.
 */
import { isLdType, type LdNode, ldText, type LinkedData } from "../article/jsonld.ts";
import { namedLike, type Names } from "../article/marks.ts";
import type { Tree } from "../article/tree.ts";

export type PaywallVerdict = "none" | "metered" | "hard" | "unknown";

export interface PaywallReading {
  readonly verdict: PaywallVerdict;
  /** Codes, each once, in a fixed order. */
  readonly evidence: readonly string[];
}

export interface PaywallLine {
  readonly text: string;
  readonly node: number;
}

/** The parts needed of a page that was read: its tree, what is hidden in it, its lines and which of them are its text. */
export interface PaywallPage {
  readonly tree: Tree;
  readonly linked: LinkedData;
  /** The node about this page, or null. */
  readonly about: LdNode | null;
  readonly names: Names;
  /** 1 for hidden nodes. */
  readonly unseen: Uint8Array;
  /** From findGates. */
  readonly gates: readonly number[];
  readonly lines: readonly PaywallLine[];
  /** Indexes of the lines that are text, ascending. */
  readonly article_lines: readonly number[];
  readonly text_chars: number;
  readonly word_count: number;
}

const ARTICLE_LIKE = /Article|Posting|Report|Review|Recipe|WebPage|CreativeWork|NewsMediaOrganization/;
const LITTLE_TEXT_CHARS = 500;
const TEASER_CHARS = 1_500;
const LOCKED_PART_CHARS = 200;
/** Below this share of the length a page declares its text was cut, if there is a wall at all. */
const CUT_SHARE = 0.5;
const MIN_GATE_CHARS = 20;
const GATE_CHARS_MAX = 3_000;
/** A gate may be longer than half of a very short teaser. */
const GATE_CHARS_SPARE = 600;

/** Hosts, globals and elements of paywall vendors. A weak sign: the same hosts serve statistics and consent. */
const VENDORS: readonly (readonly [code: string, pattern: RegExp])[] = [
  ["vendor_piano", /\btinypass\.com|\bpiano\.io|\btp\.push\(/i],
  ["vendor_cxense", /\bcxense\.com|\bcX\.callQueue/],
  ["vendor_poool", /\bpoool\.fr|\bpoool\.tech|\bpoool\(/i],
  ["vendor_zephr", /\bzephr\.com|\bblaize\.io|\bzephrBrowser|\bzephr-browser/i],
  ["vendor_leaky", /\bleaky-paywall|\bleakypaywall/i],
  ["vendor_steady", /\bsteadyhq\.com|\bsteady\.page|\bsteadycdn/i],
  ["vendor_laterpay", /\blaterpay\.net|\bsupertab\.co/i],
  ["vendor_pelcro", /\bpelcro\.com|\bwindow\.Pelcro/i],
  ["vendor_plenigo", /\bplenigo\.com/i],
  ["vendor_evolok", /\bevolok\.(?:com|net)/i],
  ["vendor_sophi", /\bsophi\.io/i],
  ["vendor_wallkit", /\bwallkit\.net/i],
  ["vendor_qiota", /\bqiota\.com/i],
  ["vendor_memberful", /\bmemberful\.com/i],
  ["vendor_swg", /\bnews\.google\.com\/swg\/|\bSWG_BASIC\b/],
  ["vendor_arc", /\barc-?p(?:ub)?\.?p?aywall|\/arc\/subs\/p\.(?:min\.)?js|\bArcP\.run\(/i],
  ["vendor_amp_subs", /\bamp-(?:access|subscriptions)(?:-google)?-[0-9.]+(?:\.mjs|\.js)/i],
  ["vendor_substack", /\bsubstackcdn\.com/i],
  ["vendor_ghost", /\/ghost\/portal|\bghost\/portal@|\bportal\.min\.js\?[^\s"'<>]{0,300}ghost/i],
];

/** Most scripts are of none: one search instead of one for each vendor. */
const ANY_VENDOR = new RegExp(VENDORS.map(([, { source }]) => source).join("|"), "i");

const GATE_NAME =
  / (?:paywall|pay wall|paywalled|regwall|reg wall|registration wall|subscription wall|premium wall|subwall|piano (?:container|offer|paywall|template|inline)|tp (?:container|modal)|subscriber only|subscribers only|subscriber wall|subscribe wall|subscription required|members only|member wall|gh post upgrade cta|upgrade cta|article gate|content gate|gated content|gate|locked content|article locked|paid content|paid barrier|leaky paywall|offer page|bezahlschranke|paid only|premium teaser|plus teaser|poool widget|qiota|steady paywall|wallkit) /;
const FADE_NAME =
  / (?:truncated|truncate content|article truncated|body truncated|fade out|fadeout|faded|paywall fade|text fade|content fade|fade overlay|gradient overlay|blurred|blur text|text blur|blurred text|obfuscated|obfuscate|snippet end|teaser fade|is truncated|cut off) /;

/** A gate speaks; the same words elsewhere are a button for a newsletter. */
const PHRASES: readonly (readonly [code: string, pattern: RegExp])[] = [
  [
    "phrase_de",
    /jetzt (?:weiterlesen|abonnieren und weiterlesen|freischalten)|weiterlesen mit|(?:um|diesen artikel|den ganzen artikel|den vollständigen artikel).{0,40}(?:weiter ?zu ?lesen|weiterlesen|zu lesen|lesen)|nur für abonnent|exklusiv für abonnent|mit (?:einem )?(?:digital)?abo.{0,30}(?:lesen|zugriff|zugang)|bereits abonnent|sie sind (?:schon|bereits) abonnent|artikel ist (?:kostenpflichtig|exklusiv)|(?:plus|premium)-?artikel|zugang zu allen/i,
  ],
  [
    "phrase_en",
    /subscribe (?:now |today )?to (?:continue|keep|read|unlock|access)|to (?:continue|keep) reading|to read (?:the (?:full|rest)|this (?:article|story|post))|(?:this|the) (?:article|story|post|content) is (?:only |exclusively )?(?:for|available to|reserved for) (?:paid |paying )?(?:subscribers|members)|for (?:paid |paying )?(?:subscribers|members) only|already a (?:subscriber|member)|(?:sign|log) in to (?:continue|read|keep)|unlock (?:this|the|unlimited|full)|register (?:now |for free )?to (?:continue|read|keep)|become a (?:subscriber|member) to|subscribers? only|exclusive to subscribers|start your (?:free )?(?:trial|subscription) to/i,
  ],
  [
    "phrase_fr",
    /réservé (?:à nos |aux )abonn|pour (?:lire la suite|continuer (?:la|votre) lecture|accéder à)|il (?:vous )?reste.{0,20}(?:de (?:cet|l['’])article)?.{0,20}à (?:lire|découvrir)|(?:abonnez|inscrivez|connectez)-vous pour (?:lire|accéder|continuer|poursuivre|débloquer)|la suite (?:de cet article )?est réservée|déjà abonné|article (?:abonné|payant|premium)|contenu réservé/i,
  ],
  [
    "phrase_it",
    /per (?:continuare a leggere|leggere (?:l['’]articolo|tutto|questo))|(?:contenuto|articolo) (?:riservato|esclusivo|premium)|riservato (?:agli|ai) abbonat|abbonati (?:per|e) (?:continua|legg|acced)|sei già (?:un )?abbonat|hai già un abbonamento|accedi per continuare/i,
  ],
  [
    "phrase_es",
    /para (?:seguir leyendo|continuar leyendo|leer (?:el artículo|la noticia|este))|(?:contenido|artículo) (?:exclusivo|reservado|solo) (?:para )?(?:suscriptores|socios)|(?:exclusivo|solo|sólo) para (?:suscriptores|socios)|suscríbete (?:para|y) (?:seguir|continuar|leer|sigue|accede)|¿?ya eres (?:suscriptor|socio)|inicia sesión para (?:seguir|continuar|leer)/i,
  ],
];

/** Nouns that METERED counts. */
const METERED_NOUN = /art(?:ikel|icle|icol|ícul)|stor(?:y|ies)|lecture|noticia/i;
const METERED: readonly (readonly [code: string, pattern: RegExp])[] = [
  [
    "metered_de",
    /(?:noch|sie haben).{0,20}\d (?:kostenlose|freie|gratis)[- ]?artikel|\d von \d+ (?:kostenlosen|freien|gratis)[- ]?artikel/i,
  ],
  [
    "metered_en",
    /\d (?:free |complimentary )?(?:articles?|stories) (?:left|remaining)|(?:you have|you['’]ve) (?:read|used|reached|viewed).{0,40}\bfree (?:articles?|stories)|(?:last|one|two|three|four|five) free (?:articles?|stories)(?: left| remaining| this month)|\d of \d+ free (?:articles|stories)/i,
  ],
  [
    "metered_fr",
    /il (?:vous )?reste \d+ (?:articles?|lectures?)|\d articles? gratuits? (?:restants?|ce mois)/i,
  ],
  ["metered_it", /(?:ti restano|hai ancora) \d+ articol|\d articoli gratuiti (?:rimanenti|rimasti)/i],
  [
    "metered_es",
    /te quedan? \d+ (?:artículos?|noticias?)|\d (?:artículos?|noticias?) (?:gratis|gratuitos?) (?:restantes|este mes)/i,
  ],
];

const isFalse = (value: unknown): boolean =>
  value === false ||
  (typeof value === "string" && /^(?:false|no|0|(?:https?:\/\/schema\.org\/)?false)$/i.test(value.trim()));
const isTrue = (value: unknown): boolean =>
  value === true ||
  (typeof value === "string" && /^(?:true|yes|1|(?:https?:\/\/schema\.org\/)?true)$/i.test(value.trim()));

interface Declared {
  readonly not_free: boolean;
  readonly free: boolean;
  /** Selectors of parts that are declared not free. */
  readonly parts: readonly string[];
}

function declaredIn(tree: Tree, { nodes }: LinkedData): Declared {
  let [not_free, free] = [false, false];
  const parts: string[] = [];
  for (const node of nodes) {
    if (!isLdType(node, ARTICLE_LIKE)) continue;
    // A page element names no article of its own: it is a part of one.
    if (!isLdType(node, /^WebPageElement$/)) {
      not_free ||= isFalse(node["isAccessibleForFree"]);
      free ||= isTrue(node["isAccessibleForFree"]);
    }
    for (const part of [node["hasPart"]].flat()) {
      if (typeof part !== "object" || part === null) continue;
      const { isAccessibleForFree, cssSelector } = part as LdNode;
      if (isFalse(isAccessibleForFree))
        parts.push(
          ...[cssSelector]
            .flat()
            .filter((selector) => typeof selector === "string")
            .slice(0, 10),
        );
    }
  }
  for (const [name, content] of tree.metas)
    if (name === "isaccessibleforfree") {
      not_free ||= isFalse(content);
      free ||= isTrue(content);
    }
  return { not_free, free, parts };
}

const tierOf = (tree: Tree): string =>
  (tree.metas.find(([name]) => name === "article:content_tier")?.[1] ?? "").trim().toLowerCase();

/** Whether the page says that its text is sold: then nothing hidden may be taken for text. */
export function isDeclaredClosed(tree: Tree, linked: LinkedData): boolean {
  const { not_free, parts } = declaredIn(tree, linked);
  return not_free || parts.length > 0 || tierOf(tree) === "locked";
}

/** The elements a simple selector names: its last part, by id, by class or by tag and class. */
function selected(tree: Tree, selector: string): number[] {
  const elements: number[] = [];
  for (const part of selector.split(",").slice(0, 10)) {
    const last = part
      .trim()
      .split(/[\s>+~]+/)
      .at(-1)!;
    const match = /^([a-z][a-z0-9-]*)?((?:[.#][\w-]+)*)/i.exec(last);
    if (!match || match[0] === "") continue;
    const tag = match[1]?.toLowerCase();
    const names = match[2]!.match(/[.#][\w-]+/g) ?? [];
    if (!tag && names.length === 0) continue;
    for (let i = 1; i < tree.tag.length && elements.length < 50; i += 1) {
      if (tree.tag[i] === "#text" || (tag && tree.tag[i] !== tag)) continue;
      const attributes = tree.attributes[i];
      const classes = attributes?.["class"]?.split(/\s+/) ?? [];
      const fits = names.every((name) =>
        name[0] === "#" ? attributes?.["id"] === name.slice(1) : classes.includes(name.slice(1)),
      );
      if (fits && (tag || names.length > 0)) elements.push(i);
    }
  }
  return elements;
}

/** Gates: elements named as one, seen, with words in them, not before the text and not around it. */
export function findGates(
  page: Pick<PaywallPage, "tree" | "names" | "unseen" | "lines" | "article_lines">,
): number[] {
  const { tree, names, unseen, lines, article_lines } = page;
  const first = article_lines.length > 0 ? lines[article_lines[0]!]!.node : 0;
  let text_chars = 0;
  for (const i of article_lines) text_chars += lines[i]!.text.length;
  const gates: number[] = [];
  const isGate = namedLike(names, GATE_NAME);
  for (let i = Math.max(1, first); i < tree.tag.length; i += 1) {
    if (!isGate(i) || unseen[i] || tree.tag[i] === "body" || tree.tag[i] === "html") continue;
    const chars = visibleChars(tree, unseen, i);
    if (chars < MIN_GATE_CHARS || chars > GATE_CHARS_MAX || chars > 0.5 * text_chars + GATE_CHARS_SPARE)
      continue;
    gates.push(i);
    i = tree.end[i]! - 1;
  }
  return gates;
}

function visibleChars(tree: Tree, unseen: Uint8Array, node: number): number {
  let chars = 0;
  for (let i = node; i < tree.end[node]! && chars <= GATE_CHARS_MAX; i += 1)
    if (!unseen[i]) chars += tree.chars[i]!;
  return chars;
}

export function readPaywall(page: PaywallPage): PaywallReading {
  const { tree, linked, about, unseen, gates, lines, article_lines, text_chars, word_count } = page;
  const evidence = new Set<string>();
  const { not_free, free, parts } = declaredIn(tree, linked);
  if (not_free) evidence.add("jsonld_not_free");
  if (free && !not_free) evidence.add("jsonld_free");
  let strong = false;

  if (parts.length > 0) {
    evidence.add("jsonld_haspart_locked");
    const nodes = parts.flatMap((selector) => selected(tree, selector));
    let chars = 0;
    for (const node of nodes) chars += visibleChars(tree, unseen, node);
    // The part that is sold is not here: then neither is the text. Unless the text stands elsewhere at full length.
    strong ||= chars < LOCKED_PART_CHARS && text_chars < 2 * TEASER_CHARS;
  }
  const tier = tierOf(tree);
  if (tier === "locked") evidence.add("meta_tier_locked");
  if (tier === "metered") evidence.add("meta_tier_metered");
  const declared = not_free || parts.length > 0 || tier === "locked" || tier === "metered";

  const vendors = tree.scripts.filter((script) => ANY_VENDOR.test(script));
  for (const [code, pattern] of VENDORS)
    if (vendors.some((script) => pattern.test(script))) evidence.add(code);

  const gate = gates.length > 0;
  if (gate) evidence.add("paywall_markup");
  const first_kept = article_lines.length > 0 ? lines[article_lines[0]!]!.node : 0;
  const last_kept = article_lines.length > 0 ? lines[article_lines.at(-1)!]!.node : 0;
  let faded = false;
  const isFade = namedLike(page.names, FADE_NAME);
  for (let i = 1; i < tree.tag.length && article_lines.length > 0 && !faded; i += 1) {
    if (!isFade(i) || unseen[i] || tree.tag[i] === "body" || tree.tag[i] === "html") continue;
    // Over the end of the text, or laid behind it.
    faded = tree.end[i]! > last_kept && (i <= last_kept || i > first_kept);
  }

  const last = article_lines.length > 0 ? article_lines.at(-1)! : -1;
  let behind = 0;
  const judged: string[] = [];
  for (const [i, line] of lines.entries()) {
    if (unseen[line.node] || line.text.length > 600) continue;
    const inGate = gates.some((node) => line.node >= node && line.node < tree.end[node]!);
    // The last seventh of the text, and a few lines after it: there a gate speaks, when no element says that it is one.
    const isAfterText = i > last && i - last <= 12;
    if (i <= last) behind += line.text.length;
    const nearEnd = i <= last && behind > 0.85 * text_chars && i >= last - 6;
    if (inGate || ((declared || gate || text_chars < TEASER_CHARS) && (isAfterText || nearEnd)))
      judged.push(line.text);
  }
  let phrase = false;
  for (const [code, pattern] of PHRASES)
    if (judged.some((text) => pattern.test(text))) {
      evidence.add(code);
      phrase = true;
    }
  let metered = false;
  const counting = lines.filter(
    ({ text, node }) => text.length < 300 && !unseen[node] && METERED_NOUN.test(text),
  );
  for (const [code, pattern] of METERED)
    if (counting.some(({ text }) => pattern.test(text))) {
      evidence.add(code);
      metered = true;
    }

  const last_line = last >= 0 ? lines[last]!.text : "";
  const walled = declared || gate || (phrase && text_chars < TEASER_CHARS);
  if (walled && (faded || (/(?:…|\.\.\.|\[\.\.\.\]|\[…\])$/.test(last_line) && (gate || phrase)))) {
    evidence.add("truncation_markup");
    strong = true;
  }
  const claimed_words = about ? Number(ldText(about["wordCount"]) ?? 0) : 0;
  const body_chars = about ? (ldText(about["articleBody"])?.length ?? 0) : 0;
  const short =
    (claimed_words > 100 && word_count < CUT_SHARE * claimed_words) ||
    (body_chars > 500 && text_chars < CUT_SHARE * body_chars);
  if (short && (declared || gate)) {
    evidence.add("length_mismatch");
    strong = true;
  }

  const verdict: PaywallVerdict =
    ((declared || gate || walled) && strong) || (gate && phrase && text_chars < TEASER_CHARS)
      ? "hard"
      : declared || metered
        ? "metered"
        : gate && text_chars < LITTLE_TEXT_CHARS
          ? "unknown"
          : "none";
  return { verdict, evidence: [...evidence] };
}
