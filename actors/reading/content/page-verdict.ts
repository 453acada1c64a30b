/**
 * Says what a page with a good status is when it is not the page that was asked for: not found, a domain without a site, a wall, a page
 * that needs its scripts. Recognised by titles and headings that are one of a list of phrases as a whole, and by structure; a page
 * with more text than such pages have is always a page. It changes nothing of an answer but the field that says it.
 */
import type { PageVerdict } from "../../../schemas/fetch.ts";
import { comparableChars } from "./comparable-chars.ts";
import { entries } from "../article/words.ts";
import type { Line } from "../article/lines.ts";
import type { Tree } from "../article/tree.ts";

export interface JudgedPage {
  readonly tree: Tree;
  /** 1 for nodes that no visitor sees. */
  readonly unseen: Uint8Array;
  readonly lines: readonly Line[];
  /** The main text. */
  readonly text: string;
}

const phrases = (list: string): ReadonlySet<string> => new Set(entries(list));

/** Compared without case, punctuation, numbers of errors and words of regret. */
const NOT_FOUND = phrases(`
not found|page not found|page cannot be found|page could not be found|page does not exist|page doesnt exist|page is gone|nothing found here|the page you requested was not found|
the page you are looking for does not exist|this page does not exist|this page doesnt exist|this page could not be found|this page cant be found|this page isnt available|that page cant be found|file not found|
this page is no longer available|page no longer available|this content is no longer available|this content isnt available|we cant find that page|we cant find the page youre looking for|we couldnt find that page|
seite nicht gefunden|seite wurde nicht gefunden|die seite wurde nicht gefunden|diese seite existiert nicht|nicht gefunden|page introuvable|page non trouvée|cette page nexiste pas|cette page est introuvable|
página no encontrada|no encontrado|no se encontró la página|la página no existe|página não encontrada|não encontrada|pagina non trovata|pagina niet gevonden|
strona nie istnieje|nie znaleziono strony|strona nie została znaleziona|nie znaleziono|страница не найдена|страница не существует|такой страницы нет|не найдено|сторінку не знайдено|η σελίδα δεν βρέθηκε|
sidan hittades inte|sidan kunde inte hittas|siden blev ikke fundet|siden finnes ikke|sivua ei löydy|sivua ei löytynyt|stránka nenalezena|stránka nebyla nalezena|az oldal nem található|sayfa bulunamadı|pagina nu a fost găsită|
页面不存在|页面未找到|找不到页面|找不到网页|您访问的页面不存在|頁面不存在|找不到頁面|ページが見つかりません|お探しのページは見つかりませんでした|페이지를 찾을 수 없습니다|trang không tồn tại|halaman tidak ditemukan|الصفحة غير موجودة|صفحه مورد نظر یافت نشد
`);
const SIGN_IN = phrases(`
log in|login|sign in|signin|log in or sign up|login required|log in to continue|login to continue|sign in to continue|please log in|please login|please sign in|you must log in|you must be logged in|you need to log in to continue|
member login|members login|account login|customer login|user login|sign in to your account|log in to your account|join or log in|welcome back|authorization required|authentication required|
anmelden|anmeldung|bitte anmelden|bitte melden sie sich an|einloggen|login erforderlich|connexion|se connecter|connectezvous|identifiezvous|identification|iniciar sesión|inicia sesión|inicio de sesión|accedi|effettua il login|
iniciar sessão|entrar|fazer login|inloggen|aanmelden|zaloguj się|logowanie|вход|войти|авторизация|вход в систему|σύνδεση|logga in|log ind|logg inn|kirjaudu sisään|přihlášení|bejelentkezés|giriş yap|autentificare|登录|请登录|登入|ログイン|로그인
`);
const MAINTENANCE = phrases(`
maintenance|maintenance mode|site maintenance|under maintenance|site under maintenance|website under maintenance|were under maintenance|this site is under maintenance|scheduled maintenance|planned maintenance|down for maintenance|site is down for maintenance|were down for maintenance|
temporarily down for maintenance|briefly unavailable for scheduled maintenance check back in a minute|well be back soon|well be right back|be right back|back soon|we will be back soon|temporarily unavailable|site temporarily unavailable|website temporarily unavailable|
under construction|site under construction|website under construction|coming soon|website coming soon|launching soon|
wartung|wartungsarbeiten|wartungsmodus|website im wartungsmodus|wir sind bald zurück|site en maintenance|en maintenance|site en construction|sitio en mantenimiento|en mantenimiento|sitio en construcción|sito in manutenzione|in manutenzione|sito in costruzione|
em manutenção|site em manutenção|in onderhoud|website in onderhoud|przerwa techniczna|strona w budowie|технические работы|ведутся технические работы|сайт на реконструкции|сайт временно недоступен|σε συντήρηση|网站维护中|系统维护|系统维护中|メンテナンス中|점검 중
`);
const CONSENT = phrases(`
we value your privacy|we care about your privacy|your privacy|your privacy is important to us|your privacy choices|your privacy matters|cookie consent|cookies consent|consent|privacy settings|cookie settings|
datenschutzeinstellungen|wir schätzen ihre privatsphäre|ihre privatsphäre ist uns wichtig|einwilligung|nous respectons votre vie privée|votre vie privée|yahoo is part of the yahoo family of brands|yahoo ist teil der yahoo markenfamilie
`);
/** And perhaps the name of the site behind them. */
const CONSENT_BEGINS =
  /^(?:before you continue|bevor sie (?:fortfahren|zu \S{1,30} weitergehen)|avant daccéder|antes de continuar|prima di continuare|voordat je verdergaat)(?: |$)/;
/** Words that stand beside the phrases and change nothing. */
const SPARE = phrases(
  "404|410|403|error|error404|http|status|code|oops|ooops|whoops|sorry|uhoh|hmm|ups|fehler|erreur|errore|fout|błąd|ошибка|hata|the|entschuldigung|désolé|lo sentimos|we re",
);

const NO_SCRIPTS =
  /\b(?:enable|activate|turn on|allow) (?:your )?(?:browser's )?java ?script\b|\bjava ?script (?:is )?(?:required|disabled|not enabled|turned off|must be enabled|needs to be enabled)\b|\b(?:requires?|needs?) java ?script\b|\bwithout java ?script\b|\bjava ?script (?:aktivieren|einschalten|ist deaktiviert)\b|\b(?:activer|activez) java ?script\b|\b(?:activar?|habilite|habilitar?|abilita|ative) (?:el |o )?java ?script\b|(?:启用|开启|有効に|включите|включить|włącz)[^.]{0,20}java ?script|java ?script[^.]{0,20}(?:启用|开启|有効に|включ|włącz)/i;
const FOR_SALE =
  /\b(?:this|the) domain (?:name )?(?:\S{3,60} )?(?:is|may be|might be) (?:for sale|park(?:ed|ing)|available (?:for purchase|to buy))\b|\bbuy this domain\b|\bdomain (?:name )?(?:is )?park(?:ed|ing)\b|\bthis domain (?:has (?:recently )?been registered|was recently registered|is registered)\b|\b(?:diese|die) domain \S{0,60} ?(?:steht zum verkauf|ist geparkt)\b|\bce (?:nom de )?domaine est (?:à vendre|en vente)\b|\beste dominio está (?:en venta|a la venta)\b|\bdomen(?:a)? .{0,30}na sprzedaż\b|домен .{0,30}прода|\bthis web page is park(?:ed|ing)\b|域名出售|このドメインは/i;
const PARKING_HOST =
  /\b(?:sedoparking\.com|parkingcrew\.net|bodis\.com|above\.com\/marketplace|parklogic\.com|skenzo\.com|hugedomains\.com|afternic\.com|dan\.com\/buy-domain|undeveloped\.com|cashparking|parking-lander|domainmarket\.com|d38psrni17bvxu\.cloudfront\.net|uniregistry\.com|namedrive\.com|trafficz\.com)/i;
const CONSENT_WORDS =
  /\b(?:cookies?|consent|privacy|partners|datenschutz|einwilligung|vie privée|privacidad|privacidade|traitement|verarbeit\S{1,12})\b/gi;
const CREDENTIALS =
  /^(?:e-?mail|user(?:name|_login)?|login|log|account|phone|session_key|session\[.{1,30}\]|identifier|loginfmt|auth.{0,20})$/i;

/** The longest main texts of such pages; articles about them are longer. */
const NOTICE_CHARS = 900;
const WALL_CHARS = 700;
const CONSENT_CHARS = 2_500;
const SCRIPTLESS_CHARS = 600;
const SHELL_CHARS = 60;
const TITLE_PARTS = / [|–—·•:»«/-]+ |[|·•»«]|: /;
const LINES_READ = 400;
const ASKING_CHARS = 400;

const words = (text: string): string =>
  text
    .toLowerCase()
    .replace(/['’]/g, "")
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== "" && !SPARE.has(word))
    .join(" ");

/** The sayings of a title or heading, as a whole and in its parts: the name of the site is one of them. */
function sayings(text: string): string[] {
  const head = text.slice(0, 300);
  return [head, ...head.split(TITLE_PARTS)].map(words);
}

interface Saying {
  readonly of: ReadonlySet<string>;
  /** A number of an error stands there and nothing else. */
  readonly isBareError: boolean;
}

const says = ({ of, isBareError }: Saying, texts: readonly string[]): boolean =>
  texts.some((text) => {
    const parts = sayings(text);
    if (parts.some((part) => of.has(part))) return true;
    return isBareError && /\b4(?:04|10)\b/.test(text) && parts.includes("");
  });

export function pageVerdict({ tree, unseen, lines, text }: JudgedPage): PageVerdict {
  const shown = lines.filter(({ node }) => !unseen[node]);
  const shown_chars = shown.reduce((sum, { chars }) => sum + chars, 0);
  const text_chars = comparableChars(text);
  const read = shown.slice(0, LINES_READ);
  const headings = read.filter(({ tag }) => tag === "h1" || tag === "h2");
  const heads = [tree.title, ...headings.map((line) => line.text)];
  // A form to sign in stands beside many texts, with a heading of its own.
  const [first] = headings;
  const above = [
    tree.title,
    ...headings.filter((line) => line === first || line.tag === "h1").map((line) => line.text),
  ];
  if (text_chars < NOTICE_CHARS) {
    if (isParked(tree, read, shown_chars)) return "parked_domain";
    if (says({ of: NOT_FOUND, isBareError: true }, heads)) return "soft_404";
  }
  // The text may come from data or from what is hidden until a script runs.
  const most_chars = Math.max(shown_chars, text_chars);
  if (most_chars < SCRIPTLESS_CHARS && asksForScripts(tree, lines)) return "javascript_required";
  if (most_chars < SHELL_CHARS && (tree.scripts.length > 0 || most_chars === 0)) return "empty_shell";
  if (text_chars < SHELL_CHARS && hasEmptyMount(tree)) return "empty_shell";
  if (shown_chars < CONSENT_CHARS && isConsent(heads, read)) return "consent_wall";
  if (text_chars < WALL_CHARS && says({ of: SIGN_IN, isBareError: false }, above) && hasLogin(tree, unseen))
    return "login_wall";
  if (
    text_chars < NOTICE_CHARS &&
    shown_chars < CONSENT_CHARS &&
    says({ of: MAINTENANCE, isBareError: false }, above)
  )
    return "maintenance";
  return "page";
}

function isParked(tree: Tree, lines: readonly Line[], shown_chars: number): boolean {
  if (shown_chars > CONSENT_CHARS) return false;
  if (tree.scripts.some((script) => PARKING_HOST.test(script))) return true;
  return FOR_SALE.test(tree.title) || lines.some(({ text }) => FOR_SALE.test(text.slice(0, ASKING_CHARS)));
}

/** Also in what is shown without scripts only. */
function asksForScripts({ tag, text, end }: Tree, lines: readonly Line[]): boolean {
  const asks = (said: string): boolean => NO_SCRIPTS.test(said.slice(0, ASKING_CHARS));
  if (lines.some((line) => asks(line.text))) return true;
  for (let i = 0, outside = 0; i < tag.length; i += 1) {
    if (tag[i] === "noscript") outside = Math.max(outside, end[i]!);
    if (i < outside && text[i] !== "" && asks(text[i]!)) return true;
  }
  return false;
}

/** Where a script builds the page, with a menu or a footer around it at most. */
const MOUNTS: ReadonlySet<string> = new Set(
  "root app __next __nuxt ___gatsby q-app app-root main-app react-root svelte ember-app application".split(
    " ",
  ),
);

const hasEmptyMount = ({ tag, attributes, chars, end }: Tree): boolean =>
  attributes.some((each, i) => {
    if (tag[i] !== "div" || !MOUNTS.has(each?.["id"] ?? "")) return false;
    let inside = 0;
    for (let node = i; node < end[i]! && inside < SHELL_CHARS; node += 1) inside += chars[node]!;
    return inside < SHELL_CHARS;
  });

function isConsent(headings: readonly string[], lines: readonly Line[]): boolean {
  const named = lines.reduce((sum, { text }) => sum + (text.match(CONSENT_WORDS)?.length ?? 0), 0);
  if (named < 3) return false;
  return (
    says({ of: CONSENT, isBareError: false }, headings) ||
    headings.some((heading) => CONSENT_BEGINS.test(words(heading.slice(0, 300))))
  );
}

const hasLogin = ({ tag, attributes }: Tree, unseen: Uint8Array): boolean =>
  tag.some((name, i) => {
    if (name !== "input" || unseen[i]) return false;
    const { type = "text", name: field = "", id = "" } = attributes[i] ?? {};
    return type === "password" || (type !== "hidden" && (CREDENTIALS.test(field) || CREDENTIALS.test(id)));
  });
