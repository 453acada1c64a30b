/** All pages of the documentation, and the order in which they are listed. */
import { type Guide, titleOf } from "../routes/guides.ts";
import { type ApiDocument, operationsByTag, operationsOf } from "./api-document.ts";
import { errorPages } from "./errors.ts";
import { linksOf } from "./links.ts";
import { type Rendered, renderMarkdown } from "./markdown.ts";
import { operationPath, referencePages } from "./reference.ts";
import { samplesIn } from "./samples.ts";
import { joined, type SourcePage } from "./source-page.ts";

export interface DocumentationDeps {
  readonly guides: () => readonly Guide[];
  /** The document of clients, then that of operators. */
  readonly documents: () => readonly ApiDocument[];
  /** Without a slash at the end. */
  readonly publicUrl: () => string;
}

export interface Page extends SourcePage {
  readonly rendered: () => Rendered;
}

export interface MenuGroup {
  readonly title: string;
  readonly entries: readonly { readonly path: string; readonly title: string }[];
}

export interface Documentation {
  /** Null: there is no such page. */
  readonly page: (path: string) => Page | null;
  readonly all: readonly Page[];
  readonly menu: readonly MenuGroup[];
}

const GROUPS: readonly (readonly [title: string, folder: string])[] = [
  ["Guides", "api"],
  ["Operating", "operating"],
  ["Contributing", "contributing"],
];
const START = "start";
const plainTitleOf = (guide: Guide): string => titleOf(guide).replaceAll("`", "");
const isOf = (folder: string, path: string): boolean => path.startsWith(`${folder}/`);

function startPage(guides: readonly Guide[]): SourcePage {
  const list = (of: readonly Guide[]): string =>
    of.map((guide) => `- [${plainTitleOf(guide)}](/docs/${guide.path})`).join("\n");
  const markdown = joined([
    "# Documentation",
    "Trawl searches the web, fetches its pages, PDFs and documents, maps and crawls sites, and has companies, filings and profiles, by one HTTPS/JSON API. " +
      "A first request: [fetch](/docs/api/fetch). All operations: [API reference](/docs/reference). What errors mean: [errors](/docs/errors).",
    ...GROUPS.flatMap(([title, folder]) => [
      `## ${title}`,
      list(guides.filter(({ path }) => isOf(folder, path))),
    ]),
    "## About the whole",
    list(guides.filter(({ path }) => !path.includes("/"))),
    "## For language models",
    "[llms.txt](/llms.txt) lists the guides, [llms-full.txt](/llms-full.txt) has those of clients in one file, and each is Markdown at its address with `.md`.",
  ]);
  return { path: START, title: "Documentation", markdown, isSearched: false };
}

/** Drawn page by page, when each is first asked for. */
export function documentation({ guides, documents, publicUrl }: DocumentationDeps): Documentation {
  const known = documents();
  const sources: readonly SourcePage[] = [
    startPage(guides()),
    ...guides().map((guide) => ({ ...guide, title: plainTitleOf(guide), isSearched: true })),
    ...referencePages(known),
    ...errorPages(publicUrl()),
  ];
  const operations = operationsOf(known[0]!);
  const paths = new Set(sources.map(({ path }) => path));
  const samplesOf = samplesIn(operations, publicUrl());
  const all = sources.map((source): Page => {
    let rendered: Rendered | null = null;
    const options = { linkTo: linksOf(source.path, (path) => paths.has(path)), samplesOf };
    const draw = (): Rendered => renderMarkdown(source.markdown, options);
    return { ...source, rendered: () => (rendered ??= draw()) };
  });
  const byPath = new Map(all.map((page) => [page.path, page]));
  const entriesOf = (belongs: (path: string) => boolean): MenuGroup["entries"] =>
    all.filter(({ path }) => belongs(path)).map(({ path, title }) => ({ path, title }));
  return {
    page: (path) => byPath.get(path === "" ? START : path) ?? byPath.get(`${path}/README`) ?? null,
    all,
    menu: [
      {
        title: "About the whole",
        entries: entriesOf((path) => guides().some((guide) => guide.path === path) && !path.includes("/")),
      },
      ...GROUPS.map(([title, folder]) => ({ title, entries: entriesOf((path) => isOf(folder, path)) })),
      { title: "Reference", entries: entriesOf((path) => path === "reference" || path === "errors") },
      ...menuOfOperations(known),
    ],
  };
}

const menuOfOperations = (documents: readonly ApiDocument[]): readonly MenuGroup[] =>
  documents.flatMap((document) =>
    operationsByTag(document).map(({ name, operations }) => ({
      title: `Operations: ${name}`,
      entries: operations.map(({ operationId, summary }) => ({
        path: operationPath(operationId),
        title: summary,
      })),
    })),
  );
