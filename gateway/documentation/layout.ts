/** The HTML around a page of the documentation: menu, search, contents. Scripts and styles are files of /pages/. */
import { escapeHtml } from "../html-page.ts";
import type { Documentation, MenuGroup, Page } from "./pages.ts";

/** Headings of these levels stand in the contents. */
const CONTENTS = [2, 3];
const MIN_CONTENTS = 3;

function menuGroup({ title, entries }: MenuGroup, current: string): string {
  const isOpen = entries.some(({ path }) => path === current);
  const items = entries.map(
    ({ path, title: name }) =>
      `<li><a href="/docs/${path}"${path === current ? ' aria-current="page"' : ""}>${escapeHtml(name)}</a></li>`,
  );
  return `<details${isOpen ? " open" : ""}><summary>${escapeHtml(title)}</summary><ul>${items.join("")}</ul></details>`;
}

function contentsOf({ rendered }: Page): string {
  const headings = rendered().headings.filter(({ level }) => CONTENTS.includes(level));
  if (headings.length < MIN_CONTENTS) return "";
  const items = headings.map(
    ({ id, level, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${items.join("")}</ul></nav>`;
}

/** `version`: of the running program. */
export function documentationPage({ menu }: Documentation, page: Page, version: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} · Trawl</title>
<meta name="description" content="${escapeHtml(page.title)}: documentation of this service">
<link rel="icon" href="data:,">
<link rel="alternate" type="text/markdown" href="/docs/${page.path}.md">
<link rel="stylesheet" href="/pages/documentation.css">
<script type="module" src="/pages/documentation.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="/">Trawl</a>
<nav aria-label="Pages"><a href="/docs">Documentation</a> <a href="/docs/reference">Reference</a> <a href="/console">Console</a> <a href="/status">Status</a> <a href="/changelog">Changelog</a></nav>
<form role="search" data-index="/docs/search.json" hidden><input type="search" name="query" placeholder="Search" aria-label="Search the documentation" autocomplete="off" maxlength="100" aria-controls="found"><ul id="found" hidden></ul></form>
</header>
<div class="columns">
<nav class="menu" aria-label="Documentation"><details class="menu-toggle"><summary>Menu</summary>${menu.map((group) => menuGroup(group, page.path)).join("\n")}</details></nav>
<main id="content" tabindex="-1">
${page.rendered().html}
<footer><p><a href="/docs/${page.path}.md">This page as Markdown</a> · version ${escapeHtml(version)}</p></footer>
</main>
${contentsOf(page)}
</div>
</body>
</html>
`;
}
