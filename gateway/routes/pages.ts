/** The pages for people (`/`, `/docs`, `/changelog`) with their files, and the OpenAPI document for tools. */
import { Type } from "typebox";
import { NOT_FOUND } from "../http-errors.ts";
import type { Reply } from "../http.ts";
import { openRoute, type Route } from "../route.ts";

/** A file of the package that a page consists of. */
export interface PageFile {
  readonly content_type: string;
  readonly bytes: Buffer;
}

export interface PageRoutesDeps {
  /** The OpenAPI document; called after all routes are known. */
  readonly document: () => object;
  /** The pages by their path, and the files they load by `/pages/<name>`. Called for each request. */
  readonly file: (path: string) => PageFile | null;
}

/** Scripts and styles come from this server only, and a page may ask this server only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HTML = { description: "A page", content_type: "text/html", schema: Type.String() };

export function pageRoutes({ document, file }: PageRoutesDeps): readonly Route[] {
  let openapi: Buffer | null = null;

  const answer = (path: string): Reply => {
    const found = file(path);
    if (!found) return NOT_FOUND;
    return {
      status: 200,
      headers: {
        "Content-Type": found.content_type,
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": path.startsWith("/pages/") ? "public, max-age=3600" : "no-cache",
      },
      body: found.bytes,
    };
  };
  const page = (path: string, operationId: string, summary: string): Route =>
    openRoute({
      method: "GET",
      path,
      operationId,
      summary,
      tags: ["about"],
      replies: { 200: HTML },
      handle: () => answer(path),
    });

  return [
    openRoute({
      method: "GET",
      path: "/openapi.json",
      operationId: "openapi",
      summary: "This API as an OpenAPI 3.1 document",
      tags: ["about"],
      cors: true,
      replies: { 200: { description: "The document", schema: Type.Record(Type.String(), Type.Unknown()) } },
      handle: () => ({
        status: 200,
        headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=60" },
        body: (openapi ??= Buffer.from(JSON.stringify(document()))),
      }),
    }),
    page("/", "home", "What this is, for people, with a search and a fetch to try"),
    page("/docs", "docs", "The API reference, for people"),
    page("/changelog", "changelog", "What changed for operators, for people"),
    openRoute({
      method: "GET",
      path: "/pages/{name}",
      operationId: "pageFile",
      summary: "A script or style of the pages for people",
      tags: ["about"],
      params: Type.Object({ name: Type.String({ maxLength: 60 }) }),
      replies: {
        200: {
          description: "The file",
          content_type: "application/octet-stream",
          also: ["*/*"],
          schema: Type.String(),
        },
        404: { description: "There is no such file", schema: Type.Object({ detail: Type.String() }) },
      },
      handle: ({ params }) => answer(`/pages/${params.name}`),
    }),
  ];
}
