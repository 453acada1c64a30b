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
  "invoices",
  "dead-letters",
  "alerts",
  "notices",
  "operations",
  "sources",
] as const;
const ofConsole = (name: (typeof CONSOLE_MODULES)[number]): Buffer => own(`console/${name}.js`);
/** Browsers find modules by address. */
const withoutBareNames = (script: Buffer): Buffer =>
  Buffer.from(script.toString().replaceAll('from"preact"', 'from"/pages/preact.js"'));

const withBuild = (page: Buffer, build: string): Buffer =>
  Buffer.from(page.toString().replaceAll("{{build}}", escaped(build)));

/** `changelog` gives the Markdown of the changelog. */
type PageReader = (build: string, changelog: () => string) => Buffer;

/** A fixed list: no path of a request reaches the file system. */
const FILES: Readonly<Record<string, readonly [content_type: string, read: PageReader]>> = {
  "/": [HTML, (build) => withBuild(own("home.html"), build)],
  "/replay": [HTML, () => own("replay.html")],
  "/changelog": [HTML, (build, changelog) => Buffer.from(changelogPage(changelog(), build))],
  "/console": [HTML, (build) => withBuild(own("console/console.html"), build)],
  "/pages/console.css": [STYLE, () => own("console/console.css")],
  ...Object.fromEntries(
    CONSOLE_MODULES.map((name) => [`/pages/console-${name}.js`, [SCRIPT, () => ofConsole(name)] as const]),
  ),
  "/pages/preact.js": [SCRIPT, () => ofPackage("preact")],
  "/pages/preact-hooks.js": [SCRIPT, () => withoutBareNames(ofPackage("preact/hooks"))],
  "/pages/htm.js": [SCRIPT, () => readFileSync(join(dirname(pathOf("htm")), "htm.module.js"))],
  "/pages/home.css": [STYLE, () => own("home.css")],
  "/pages/home.js": [SCRIPT, () => own("home.js")],
  "/pages/status.css": [STYLE, () => own("status.css")],
  "/pages/status.js": [SCRIPT, () => own("status.js")],
  "/pages/documentation.css": [STYLE, () => own("documentation.css")],
  "/pages/documentation.js": [SCRIPT, () => own("documentation.js")],
  "/pages/minisearch.js": [SCRIPT, () => readFileSync(new URL(import.meta.resolve("minisearch")))],
  "/pages/replay.js": [SCRIPT, () => own("replay.js")],
};

/**
 * `build` names the program that runs: its version and commit. `readChangelog` is called once at most, when a page first needs it:
 * a request for a version that does not exist reads no file.
 */
export function pageFiles(
  build: string,
  readChangelog: () => string = () => own("../../CHANGELOG.md").toString(),
): (path: string) => PageFile | null {
  const loaded = new Map<string, PageFile>();
  let markdown: string | null = null;
  const changelog = (): string => (markdown ??= readChangelog());
  return (path) => {
    const existing = loaded.get(path);
    if (existing) return existing;
    const file = Object.hasOwn(FILES, path) ? FILES[path]! : ofVersion(path, changelog);
    if (!file) return null;
    const [content_type, read] = file;
    const made = { content_type, bytes: read(build, changelog) };
    loaded.set(path, made);
    return made;
  };
}

/** `/changelog/<version>`, where the changelog has the version. */
function ofVersion(path: string, changelog: () => string): (typeof FILES)[string] | null {
  const [, version] = /^\/changelog\/([^/]+)$/.exec(path) ?? [];
  if (version === undefined || !versionsOf(changelog()).has(version)) return null;
  return [HTML, (build) => Buffer.from(changelogPage(changelog(), build, version))];
}

/** The sections of the changelog by version, newest first, each with its heading. */
function versionsOf(markdown: string): ReadonlyMap<string, string> {
  const [, ...sections] = markdown.split(/^(?=## )/m);
  return new Map(sections.map((section) => [/^## (\S+)/.exec(section)![1]!.toLowerCase(), section]));
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const inline = (text: string): string =>
  escaped(text)
    .replace(/`([^`]+)`/g, "<code>$1</code>")
    .replace(/\*\*([^*]+)\*\*/g, "<strong>$1</strong>")
    .replace(/\[([^\]]+)\]\((https:[^)\s]+)\)/g, '<a href="$2">$1</a>');

/**
 * The Markdown that the changelog is written in: headings, paragraphs, lists, code, strong text and links. `version`: the page of
 * this version alone.
 */
export function changelogPage(markdown: string, build: string, version?: string): string {
  const versions = versionsOf(markdown);
  const blocks: string[] = [];
  const shown = version === undefined ? markdown : `# Changelog\n\n${versions.get(version)!}`;
  for (const block of shown.trim().split(/\n{2,}/)) {
    const heading = /^(#{1,3}) (.*)$/.exec(block);
    if (heading) blocks.push(`<h${heading[1]!.length}>${inline(heading[2]!)}</h${heading[1]!.length}>`);
    else if (block.startsWith("- ")) {
      const items = block.slice(2).split(/\n- /);
      blocks.push(
        `<ul>${items.map((item) => `<li>${inline(item.replace(/\n\s*/g, " "))}</li>`).join("\n")}</ul>`,
      );
    } else blocks.push(`<p>${inline(block.replaceAll("\n", " "))}</p>`);
  }
  const links = [...versions.keys()].map(
    (each) =>
      `<a href="/changelog/${encodeURIComponent(each)}"${each === version ? ' aria-current="page"' : ""}>${escaped(each)}</a>`,
  );
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trawl: ${version === undefined ? "changelog" : `changes of ${escaped(version)}`}</title>
<meta name="description" content="What changed for those who run this service and those who call it.">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/pages/home.css">
<nav aria-label="Pages"><a href="/">Trawl</a> <a href="/docs">Documentation</a> <a href="/status">Status</a></nav>
<nav aria-label="Versions"><a href="/changelog">All versions</a> ${links.join(" ")}</nav>
<main>
${blocks.join("\n")}
</main>
<footer><p>This service runs ${escaped(build)}.</p></footer>
</html>
`;
}
