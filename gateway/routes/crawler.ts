/** GET /crawler: what owners of sites want to know of this crawler, at the address that its User-Agent names. */
import { Type } from "typebox";
import { escapeHtml, htmlHeading, htmlPage, htmlTerms, PAGE_HEADERS } from "../html-page.ts";
import { openRoute, type Route } from "../route.ts";

interface CrawlerDeps {
  /** In robots.txt. */
  readonly name: string;
  /** Where it declares itself. */
  readonly user_agent: string;
  /** Whether pages of crawls are asked for with `user_agent`. */
  readonly isDeclared: boolean;
  /** How the operator is reached; null: not said. */
  readonly contact: string | null;
  readonly page_robots: "obey" | "ignore";
}

export const crawlerRoute = (deps: CrawlerDeps): Route =>
  openRoute({
    method: "GET",
    path: "/crawler",
    operationId: "crawler",
    summary: "What this crawler is and how a site slows or excludes it, for owners of sites",
    tags: ["about"],
    audience: "people",
    replies: { 200: { description: "A page", content_type: "text/html", schema: Type.String() } },
    handle: () => ({
      status: 200,
      headers: { ...PAGE_HEADERS, "Cache-Control": "no-cache" },
      body: Buffer.from(htmlPage(`The crawler "${deps.name}"`, contentOf(deps))),
    }),
  });

const paragraph = (text: string): string => `<p>${escapeHtml(text)}</p>`;
const example = (lines: readonly string[]): string => `<pre>${escapeHtml(lines.join("\n"))}</pre>`;

const contentOf = ({ name, user_agent, isDeclared, contact, page_robots }: CrawlerDeps): string =>
  [
    paragraph(
      "This service fetches public pages for its users with the program Trawl. It reads robots.txt of a site first, waits between two requests to a site, and takes longer waits when the site asks for them or answers with errors.",
    ),
    htmlTerms([
      ["In robots.txt", name],
      ["User-Agent", user_agent],
      ["The operator", contact ?? "Has given no address here"],
    ]),
    paragraph(
      isDeclared
        ? "robots.txt and the pages of crawls are asked for with this User-Agent; a single page that a user asks for may have the User-Agent of a browser."
        : "robots.txt is asked for with this User-Agent; pages may have the User-Agent of a browser. robots.txt holds for all of them.",
    ),
    htmlHeading("To exclude it"),
    paragraph("In robots.txt, from all of a site or from a part of it. It is read again within a day:"),
    example([`User-agent: ${name}`, "Disallow: /"]),
    htmlHeading("To slow it"),
    paragraph(
      "In robots.txt, in seconds between two requests, at most 30. An answer 429 or 503 with Retry-After is waited for as well:",
    ),
    example([`User-agent: ${name}`, "Crawl-delay: 10"]),
    htmlHeading("What pages say"),
    paragraph(
      page_robots === "obey"
        ? "Links with rel=nofollow, and links of a page whose robots element or X-Robots-Tag field says nofollow, are not followed unless the user of a crawl says otherwise. Pages with noindex are found by no search of this service."
        : "The operator has set that robots elements and X-Robots-Tag fields of pages are not obeyed. Links with rel=nofollow are not followed unless the user of a crawl says otherwise.",
    ),
    example(['<meta name="robots" content="noindex, nofollow">', `X-Robots-Tag: ${name}: noindex, nofollow`]),
  ].join("");
