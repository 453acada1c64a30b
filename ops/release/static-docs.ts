/**
 * The documentation as files for any web server: what a service shows at /docs, followed link by link, with every address made relative.
 * Links to the service itself (the console, the status) become text: the files ask nothing but each other.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

/** Where its files begin, and what no page links. */
const STARTS = ["/docs", "/docs/search.json", "/pages/minisearch.js", "/llms.txt", "/llms-full.txt"];
/** There are 400 or so; far more means that addresses multiply. */
const MAX_FILES = 5_000;
/** As the service's own header, but for what a page cannot say of itself. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'";

/** The file of an address of the service; null: it is none of the documentation. */
export function fileOf(path: string): string | null {
  if (path === "/" || path === "/docs" || path === "/docs/") return "index.html";
  if (path.startsWith("/pages/")) return `files/${path.slice("/pages/".length)}`;
  if (/^\/(?:llms(?:-full)?\.txt|openapi(?:-operator)?\.json)$/.test(path)) return path.slice(1);
  if (/^\/changelog(?:\/[^/]+)?$/.test(path)) return `${path.slice(1)}.html`;
  if (!path.startsWith("/docs/")) return null;
  const below = path.slice("/docs/".length);
  return /\.(?:md|svg|json)$/.test(below) ? below : `${below}.html`;
}

const relative = (from: string, to: string): string => posix.relative(posix.dirname(from), to);

/** `public_url`: the service's address in its texts. Throws when a page is missing or there are too many. */
export async function writeStaticDocs(
  origin: string,
  public_url: string,
  folder: string,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const seen = new Set<string>();
  const waiting = [...STARTS];
  let bytes = 0;
  /** The file of an address of the service, which is written, too. */
  const follow = (path: string): string | null => {
    const file = fileOf(path);
    if (file !== null && path !== "/" && !seen.has(path)) waiting.push(path);
    return file;
  };
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (seen.size > MAX_FILES) throw new Error(`The documentation has more than ${MAX_FILES} files`);
    const answer = await fetch(new URL(path, origin));
    if (!answer.ok) throw new Error(`Cannot write "${path}": the service answers ${answer.status}`);
    const file = fileOf(path)!;
    const type = answer.headers.get("content-type") ?? "";
    const content = type.startsWith("text/html")
      ? pageOf(await answer.text(), file, follow)
      : textOf(await answer.text(), path, file, public_url, follow);
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
    bytes += Buffer.byteLength(content);
  }
  return { files: seen.size, bytes };
}

type Follow = (path: string) => string | null;

/** A link within the service, or another tag with its address: as gateway/documentation writes them, with no quotes in values and no link in a link. */
const LINK = /<a (?:[^<>]* )?href="(\/[^"]*)"[^<>]*>([^]*?)<\/a>/g;
const ADDRESS = /(?<= (?:href|src|data-index)=")\/[^"#]*/g;
const NAVIGATION = /<nav aria-label="Pages">[^]*?<\/nav>/g;

function pageOf(html: string, file: string, follow: Follow): string {
  const isLinked = (address: string): boolean => fileOf(address.replace(/#.*/, "")) !== null;
  return html
    .replace(NAVIGATION, (pages) => pages.replace(LINK, (link, to: string) => (isLinked(to) ? link : "")))
    .replace(LINK, (link, to: string, text: string) => (isLinked(to) ? link : text))
    .replace(ADDRESS, (address) => relative(file, follow(address)!))
    .replace(/<meta charset="[^"]*">/, `$&<meta http-equiv="Content-Security-Policy" content="${POLICY}">`);
}

function textOf(text: string, path: string, file: string, public_url: string, follow: Follow): string {
  if (path === "/docs/search.json") {
    const index = JSON.parse(text) as { readonly documentIds: Record<string, string> };
    const documentIds = Object.fromEntries(
      Object.entries(index.documentIds).map(([id, href]) => {
        const [page = "", anchor] = href.split("#");
        return [id, `${follow(page)}${anchor === undefined ? "" : `#${anchor}`}`];
      }),
    );
    return JSON.stringify({ ...index, documentIds });
  }
  if (path.startsWith("/llms"))
    return text.replaceAll(`${public_url}/`, "/").replaceAll(/(?<=\(|: )\/[^\s)]+/g, (address) => {
      const target = follow(address);
      return target === null ? address : relative(file, target);
    });
  if (!file.endsWith(".md")) return text;
  return text.replaceAll(/\]\((\/[^)\s#]*)/g, (link, address: string) => {
    const target = follow(address);
    return target === null ? link : `](${relative(file, target.replace(/\.html$/, ".md"))}`;
  });
}
