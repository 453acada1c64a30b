/** The pages for people and their files, read from the package when they are first asked for. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { PageFile } from "../gateway/routes/pages.ts";

const HTML = "text/html; charset=utf-8";
const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

const own = (name: string): Buffer => readFileSync(new URL(`pages/${name}`, import.meta.url));
const pathOf = createRequire(import.meta.url).resolve;
const ofPackage = (name: string): Buffer => readFileSync(pathOf(name));

const CONSOLE_MODULES = [
  "app",
  "parts",
  "service",
  "samples",
  "playground",
  "jobs",
  "usage",
  "keys",
  "watching",
  "operator",
] as const;
const ofConsole = (name: (typeof CONSOLE_MODULES)[number]): Buffer => own(`console/${name}.js`);
/** Browsers find modules by address. */
const withoutBareNames = (script: Buffer): Buffer =>
  Buffer.from(script.toString().replaceAll('from"preact"', 'from"/pages/preact.js"'));

/** A fixed list: no path of a request reaches the file system. */
const FILES: Readonly<Record<string, readonly [content_type: string, read: (version: string) => Buffer]>> = {
  "/": [HTML, (version) => Buffer.from(own("home.html").toString().replaceAll("{{version}}", version))],
  "/replay": [HTML, () => own("replay.html")],
  "/changelog": [HTML, () => Buffer.from(changelogPage(own("../../CHANGELOG.md").toString()))],
  "/console": [HTML, () => own("console/console.html")],
  "/pages/console.css": [STYLE, () => own("console/console.css")],
  ...Object.fromEntries(
    CONSOLE_MODULES.map((name) => [`/pages/console-${name}.js`, [SCRIPT, () => ofConsole(name)] as const]),
  ),
  "/pages/preact.js": [SCRIPT, () => ofPackage("preact")],
  "/pages/preact-hooks.js": [SCRIPT, () => withoutBareNames(ofPackage("preact/hooks"))],
  "/pages/htm.js": [SCRIPT, () => readFileSync(join(dirname(pathOf("htm")), "htm.module.js"))],
  "/pages/home.css": [STYLE, () => own("home.css")],
  "/pages/home.js": [SCRIPT, () => own("home.js")],
  "/pages/documentation.css": [STYLE, () => own("documentation.css")],
  "/pages/documentation.js": [SCRIPT, () => own("documentation.js")],
  "/pages/minisearch.js": [SCRIPT, () => readFileSync(new URL(import.meta.resolve("minisearch")))],
  "/pages/replay.js": [SCRIPT, () => own("replay.js")],
};

export function pageFiles(version: string): (path: string) => PageFile | null {
  const loaded = new Map<string, PageFile>();
  return (path) => {
    const existing = loaded.get(path);
    if (existing) return existing;
    const file = Object.hasOwn(FILES, path) ? FILES[path]! : null;
    if (!file) return null;
    const [content_type, read] = file;
    const made = { content_type, bytes: read(version) };
    loaded.set(path, made);
    return made;
  };
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const inline = (text: string): string =>
  escaped(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
    .replace(/\[([^\]]+)\]\((https:[^)\s]+)\)/g, '<a href="$2">$1</a>');

/** The Markdown that the changelog is written in: headings, paragraphs, lists, code, strong text and links. */
export function changelogPage(markdown: string): string {
  const blocks: string[] = [];
  for (const block of markdown.trim().split(/\n{2,}/)) {
    const heading = /^(#{1,3}) (.*)$/.exec(block);
    if (heading) blocks.push(`<h${heading[1]!.length}>${inline(heading[2]!)}</h${heading[1]!.length}>`);
    else if (block.startsWith("- ")) {
      const items = block.slice(2).split(/\n- /);
      blocks.push(
        `<ul>${items.map((item) => `<li>${inline(item.replace(/\n\s*/g, " "))}</li>`).join("\n")}</ul>`,
      );
    } else blocks.push(`<p>${inline(block.replaceAll("\n", " "))}</p>`);
  }
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trawl: changelog</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/pages/home.css">
<nav><a href="/">Trawl</a> <a href="/docs">Documentation</a></nav>
${blocks.join("\n")}
</html>
`;
}
