/** The guides for machines: /llms.txt and /llms-full.txt. */
import { Type } from "typebox";
import { openRoute, type Route } from "../route.ts";

export interface Guide {
  /** Below docs/, without its ending: `api/fetch`. */
  readonly path: string;
  readonly markdown: string;
}

export interface GuideRoutesDeps {
  /** Guides for clients first, in the order in which they are read. */
  readonly guides: () => readonly Guide[];
  /** Without a slash at the end. */
  readonly publicUrl: () => string;
}

const ABOUT =
  "# Trawl\n\n> A crawler service with one HTTPS/JSON API: searches the web, fetches pages, PDFs and documents politely as text and Markdown, maps and " +
  "crawls sites, and has companies, filings and profiles. Each request needs an API key as bearer token.\n";

const isForClients = ({ path }: Guide): boolean => path.startsWith("api/");
/** Its first heading. */
export const titleOf = ({ path, markdown }: Guide): string => /^# (.+)$/m.exec(markdown)?.[1] ?? path;

/** The first sentence behind the title; "" where a table, a list or a heading follows it. */
function sentenceOf({ markdown }: Guide): string {
  const [, text = ""] = /^# .+\n+(?!```|[#|<-]|\d)([^]*?)(?:\n\n|$)/.exec(markdown) ?? [];
  const plain = text.replaceAll("\n", " ").replace(/\[([^[\]]+)\]\([^()]*\)/g, "$1");
  return /^[^]*?\.(?=\s|$)/.exec(plain)?.[0] ?? plain.replace(/:$/, ".");
}

export function guideRoutes({ guides, publicUrl }: GuideRoutesDeps): readonly Route[] {
  const addressOf = ({ path }: Guide): string => `${publicUrl()}/docs/${path}.md`;

  function index(): string {
    const line = (guide: Guide): string =>
      [`- [${titleOf(guide)}](${addressOf(guide)})`, sentenceOf(guide)].filter(Boolean).join(": ");
    const all = guides();
    return [
      ABOUT,
      `## Guides\n\n${all.filter(isForClients).map(line).join("\n")}\n`,
      `## Reference\n\n- [API document](${publicUrl()}/openapi.json): every operation with its fields, errors and examples (OpenAPI 3.1).\n` +
        `- [Everything in one file](${publicUrl()}/llms-full.txt): the guides above, one after the other.\n`,
      `## Optional\n\n${all
        .filter((guide) => !isForClients(guide))
        .map(line)
        .join("\n")}\n`,
    ].join("\n");
  }

  const whole = (): string =>
    [
      ABOUT,
      ...guides()
        .filter(isForClients)
        .map((guide) => `Source: ${addressOf(guide)}\n\n${guide.markdown.trim()}\n`),
    ].join("\n---\n\n");

  const listed = (path: string, operationId: string, summary: string, content: () => string): Route =>
    openRoute({
      method: "GET",
      path,
      operationId,
      summary,
      tags: ["about"],
      audience: "people",
      cors: true,
      replies: { 200: { description: "The text", content_type: "text/plain", schema: Type.String() } },
      handle: () => ({
        status: 200,
        headers: { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "public, max-age=300" },
        body: Buffer.from(content()),
      }),
    });
  return [
    listed("/llms.txt", "llmsText", "What there is to read here, for language models", index),
    listed("/llms-full.txt", "llmsFullText", "The guides of clients in one file", whole),
  ];
}
