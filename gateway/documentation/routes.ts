/** /docs: the guides, the reference and the errors as pages and as Markdown, and the index of their search. */
import { Type } from "typebox";
import { type Clock, sleep } from "../../cluster/ports/clock.ts";
import { Field } from "../../schemas/common.ts";
import { NOT_FOUND } from "../http-errors.ts";
import type { Reply } from "../http.ts";
import { SCRIPTED_PAGE_HEADERS } from "../page-policy.ts";
import { openRoute, type Route } from "../route.ts";
import { documentationPage } from "./layout.ts";
import { type Documentation, documentation, type DocumentationDeps } from "./pages.ts";
import { searchIndex } from "./search-index.ts";

export interface DocumentationRoutesDeps extends DocumentationDeps {
  readonly version: string;
  readonly clock: Clock;
  /** A picture of docs/pictures by its name; null: there is none. */
  readonly picture: (name: string) => Buffer | null;
}

const HTML_HEADERS = { ...SCRIPTED_PAGE_HEADERS, "Content-Type": "text/html; charset=utf-8" };
const TEXT_CACHE = { "Cache-Control": "public, max-age=300" };
const PART_CHARS = 80;
const part = (what: string, example: string) => Field(Type.String({ maxLength: PART_CHARS }), what, example);
const PAGE = { 200: { description: "The page", content_type: "text/html", schema: Type.String() } };
const MARKDOWN = { 200: { description: "The page", content_type: "text/markdown", schema: Type.String() } };
const MISSING = {
  404: { description: "There is no such page", schema: Type.Object({ detail: Type.String() }) },
};

export function documentationRoutes({
  version,
  clock,
  picture,
  ...deps
}: DocumentationRoutesDeps): readonly Route[] {
  let made: Documentation | null = null;
  let index: Promise<Buffer> | null = null;
  const makeIndex = async (): Promise<Buffer> =>
    Buffer.from(JSON.stringify(await searchIndex(documents(), () => sleep(clock, 0))));
  // The API documents are complete once the server has all routes.
  const documents = (): Documentation => (made ??= documentation(deps));
  const html = (path: string): Reply => {
    const page = documents().page(path);
    if (!page) return NOT_FOUND;
    return {
      status: 200,
      headers: HTML_HEADERS,
      body: Buffer.from(documentationPage(documents(), page, version)),
    };
  };
  const markdown = (path: string): Reply => {
    const page = documents().page(path);
    if (!page) return NOT_FOUND;
    const headers = { "Content-Type": "text/markdown; charset=utf-8", ...TEXT_CACHE };
    return { status: 200, headers, body: Buffer.from(page.markdown) };
  };
  const common = { method: "GET", tags: ["about"], audience: "people" } as const;
  const name = part("A page of the documentation, or a folder of it", "concepts");
  const inFolder = {
    folder: part("A folder of the documentation", "api"),
    name: part("A page in it", "fetch"),
  };
  const shape = Type.Object({ name: part("A shape of the API document", "FetchBody") });

  return [
    openRoute({
      ...common,
      path: "/docs",
      operationId: "docs",
      summary: "The documentation, for people",
      replies: PAGE,
      handle: () => html(""),
    }),
    openRoute({
      ...common,
      path: "/docs/{name}",
      operationId: "docsPage",
      summary: "A page of the documentation",
      params: Type.Object({ name }),
      replies: { ...PAGE, ...MISSING },
      handle: ({ params }) => html(params.name),
    }),
    openRoute({
      ...common,
      path: "/docs/{folder}/{name}",
      operationId: "docsPageInFolder",
      summary: "A page of the documentation in a folder",
      params: Type.Object(inFolder),
      replies: { ...PAGE, ...MISSING },
      handle: ({ params }) => html(`${params.folder}/${params.name}`),
    }),
    openRoute({
      ...common,
      path: "/docs/reference/shapes/{name}",
      operationId: "docsShape",
      summary: "A shape of the API as a page",
      params: shape,
      replies: { ...PAGE, ...MISSING },
      handle: ({ params }) => html(`reference/shapes/${params.name}`),
    }),
    openRoute({
      ...common,
      path: "/docs/pictures/{name}.svg",
      operationId: "docsPicture",
      summary: "A picture of the documentation",
      params: Type.Object({ name: part("The picture, without .svg", "floors") }),
      replies: {
        200: {
          description: "The picture",
          content_type: "application/octet-stream",
          also: ["*/*"],
          schema: Type.String(),
        },
        ...MISSING,
      },
      handle: ({ params }) => {
        const body = picture(params.name);
        if (!body) return NOT_FOUND;
        const headers = {
          "Content-Type": "image/svg+xml",
          "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
          "X-Content-Type-Options": "nosniff",
          ...TEXT_CACHE,
        };
        return { status: 200, headers, body };
      },
    }),
    openRoute({
      ...common,
      path: "/docs/search.json",
      operationId: "docsSearchIndex",
      summary: "The index of the documentation's search, which browsers search by themselves",
      replies: { 200: { description: "The index", schema: Type.Record(Type.String(), Type.Unknown()) } },
      handle: async () => ({
        status: 200,
        headers: { "Content-Type": "application/json", ...TEXT_CACHE },
        body: await (index ??= makeIndex()),
      }),
    }),
    openRoute({
      ...common,
      cors: true,
      path: "/docs/{name}.md",
      operationId: "guide",
      summary: "A page of the documentation as Markdown",
      params: Type.Object({ name: part("The page, without .md", "concepts") }),
      replies: { ...MARKDOWN, ...MISSING },
      handle: ({ params }) => markdown(params.name),
    }),
    openRoute({
      ...common,
      cors: true,
      path: "/docs/{folder}/{name}.md",
      operationId: "guideInFolder",
      summary: "A page of the documentation in a folder, as Markdown",
      params: Type.Object({ folder: inFolder.folder, name: part("The page, without .md", "fetch") }),
      replies: { ...MARKDOWN, ...MISSING },
      handle: ({ params }) => markdown(`${params.folder}/${params.name}`),
    }),
    openRoute({
      ...common,
      cors: true,
      path: "/docs/reference/shapes/{name}.md",
      operationId: "docsShapeMarkdown",
      summary: "A shape of the API as Markdown",
      params: shape,
      replies: { ...MARKDOWN, ...MISSING },
      handle: ({ params }) => markdown(`reference/shapes/${params.name}`),
    }),
  ];
}
