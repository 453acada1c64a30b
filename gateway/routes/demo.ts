/**
 * The bundled demo site: pages about an invented island, so that a search on a fresh clone finds something that a browser
 * can open. Served only where the built-in index is the primary search. The service does not fetch
 * these pages, because its own address is a forbidden destination: copies of them are in its cache from the start.
 */
import { Type } from "typebox";
import { NOT_FOUND } from "../http-errors.ts";
import { openRoute, type Route } from "../route.ts";

/** It has links to all others. */
const START = "oskerry";

/** By name; each a whole HTML document. */
export function demoRoutes(pages: ReadonlyMap<string, Buffer>): readonly Route[] {
  return [
    openRoute({
      method: "GET",
      path: "/demo",
      operationId: "demo",
      audience: "people",
      summary: "The bundled demo site",
      tags: ["about"],
      replies: {
        302: { description: "Its first page", headers: { Location: "Its path" } },
        404: { description: "There is no demo site", schema: Type.Object({ detail: Type.String() }) },
      },
      handle: () => (pages.has(START) ? { status: 302, headers: { Location: `/demo/${START}` } } : NOT_FOUND),
    }),
    openRoute({
      method: "GET",
      path: "/demo/{page}",
      operationId: "demoPage",
      audience: "people",
      summary: "A page of the bundled demo site",
      tags: ["about"],
      params: Type.Object({ page: Type.String({ pattern: "^[a-z0-9-]{1,60}$" }) }),
      replies: {
        200: { description: "The page", content_type: "text/html", schema: Type.String() },
        404: { description: "There is no such page", schema: Type.Object({ detail: Type.String() }) },
      },
      handle: ({ params }) => {
        const body = pages.get(params.page);
        if (body === undefined) return NOT_FOUND;
        return { status: 200, headers: HEADERS, body };
      },
    }),
  ];
}

const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": "default-src 'none'",
  "X-Content-Type-Options": "nosniff",
  "Cache-Control": "public, max-age=3600",
};
