/** The pages for people (`/`, `/changelog`, `/console`, `/replay`) with their files, and the OpenAPI documents for tools. */
import { Type } from "typebox";
import { Field } from "../../schemas/common.ts";
import { NOT_FOUND } from "../http-errors.ts";
import type { Reply } from "../http.ts";
import { FRAMING_PAGE_HEADERS, SCRIPTED_PAGE_HEADERS } from "../page-policy.ts";
import { type Audience, openRoute, type Route } from "../route.ts";

/** A file of the package that a page consists of. */
export interface PageFile {
  readonly content_type: string;
  readonly bytes: Buffer;
}

export interface PageRoutesDeps {
  /** An OpenAPI document; called after all routes are known. */
  readonly document: (audience: Audience) => object;
  /** The pages by their path, and the files they load by `/pages/<name>`. Called for each request. */
  readonly file: (path: string) => PageFile | null;
}

/** It shows archived pages in a frame. */
const FRAMING = "/replay";

const HTML = { description: "A page", content_type: "text/html", schema: Type.String() };

export function pageRoutes({ document, file }: PageRoutesDeps): readonly Route[] {
  const answer = (path: string): Reply => {
    const found = file(path);
    if (!found) return NOT_FOUND;
    return {
      status: 200,
      headers: {
        ...(path === FRAMING ? FRAMING_PAGE_HEADERS : SCRIPTED_PAGE_HEADERS),
        "Content-Type": found.content_type,
        ...(path.startsWith("/pages/") && { "Cache-Control": "public, max-age=3600" }),
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
      audience: "people",
      replies: { 200: HTML },
      handle: () => answer(path),
    });
  const openapi = (audience: Audience, path: string, operationId: string, summary: string): Route => {
    let bytes: Buffer | null = null;
    return openRoute({
      method: "GET",
      path,
      operationId,
      summary,
      tags: ["about"],
      audience,
      cors: true,
      replies: { 200: { description: "The document", schema: Type.Record(Type.String(), Type.Unknown()) } },
      handle: () => ({
        status: 200,
        headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=60" },
        body: (bytes ??= Buffer.from(JSON.stringify(document(audience)))),
      }),
    });
  };

  return [
    openapi("clients", "/openapi.json", "openapi", "This API as an OpenAPI 3.1 document"),
    openapi("operators", "/openapi-operator.json", "openapiOperator", "The operators' part of it"),
    openapi("people", "/openapi-pages.json", "openapiPages", "The pages for people, in the same form"),
    page("/", "home", "What this is, for people, with a search and a fetch to try"),
    page("/replay", "replayPage", "What a project has archived, and how archives are opened, for people"),
    page("/changelog", "changelog", "What changed for operators, for people"),
    openRoute({
      method: "GET",
      path: "/changelog/{version}",
      operationId: "changelogOfVersion",
      summary: "What changed in one version, for people",
      tags: ["about"],
      audience: "people",
      params: Type.Object({
        version: Field(Type.String({ maxLength: 40 }), "The version, or `unreleased`", "0.2.0"),
      }),
      replies: {
        200: HTML,
        404: { description: "There is no such version", schema: Type.Object({ detail: Type.String() }) },
      },
      handle: ({ params }) => answer(`/changelog/${params.version}`),
    }),
    page("/console", "console", "Jobs, usage, keys and the service in a browser, signed in with a key"),
    openRoute({
      method: "GET",
      path: "/pages/{name}",
      operationId: "pageFile",
      summary: "A script or style of the pages for people",
      tags: ["about"],
      audience: "people",
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
