/** The home page at `/` for people, and the OpenAPI document of the whole API for tools. */
import { Type } from "typebox";
import { openRoute, type Route } from "../route.ts";

export interface PageRoutesDeps {
  /** The OpenAPI document; called after all routes are known. */
  readonly document: () => object;
  /** The address that clients use; called after the server listens. */
  readonly public_url: () => string;
  readonly version: string;
}

export function pageRoutes({ document, public_url, version }: PageRoutesDeps): readonly Route[] {
  let openapi: Buffer | null = null;
  let home: Buffer | null = null;
  return [
    openRoute({
      method: "GET",
      path: "/openapi.json",
      operationId: "openapi",
      summary: "This API as an OpenAPI 3.1 document",
      tags: ["about"],
      cors: true,
      replies: { 200: { description: "The document", schema: Type.Object({}) } },
      handle: () => ({
        status: 200,
        headers: { "Content-Type": "application/json", "Cache-Control": "public, max-age=60" },
        body: (openapi ??= Buffer.from(JSON.stringify(document()))),
      }),
    }),
    openRoute({
      method: "GET",
      path: "/",
      operationId: "home",
      summary: "A home page for people",
      tags: ["about"],
      replies: { 200: { description: "A page", content_type: "text/html", schema: Type.String() } },
      handle: () => ({
        status: 200,
        headers: {
          "Content-Type": "text/html; charset=utf-8",
          "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
          "X-Content-Type-Options": "nosniff",
        },
        body: (home ??= Buffer.from(page(public_url(), version))),
      }),
    }),
  ];
}

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const page = (public_url: string, version: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trawl</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
  pre { background: #f3f3f3; padding: 1rem; overflow-x: auto; }
  @media (prefers-color-scheme: dark) { body { background: #111; color: #ddd } pre { background: #222 } a { color: #9cf } }
</style>
<h1>Trawl</h1>
<p>This is a crawler service, version ${escaped(version)}: an HTTP API for programs. It searches the web, and fetches pages,
PDFs and documents politely. Each answer lists the routes that were tried.</p>
<pre>curl ${escaped(public_url)}/v1/fetch \\
  -H "Authorization: Bearer $TRAWL_KEY" \\
  -d '{"url": "https://example.org/"}'</pre>
<p>Keys are issued by the operator: <code>npx trawl key create --project default</code>.</p>
<ul>
  <li><a href="/openapi.json">/openapi.json</a>: every operation with its schemas</li>
  <li><a href="/health">/health</a>, <a href="/ready">/ready</a>: whether the service is up and ready</li>
</ul>
`;
