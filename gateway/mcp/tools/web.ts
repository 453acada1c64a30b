/** Tools for the open web: search, fetch, map_site. */
import { Type } from "typebox";
import { PERIODS } from "../../../schemas/search.ts";
import { contentOf } from "../tool-errors.ts";
import { factLine, inline, lines, link } from "../markdown.ts";
import { type Tool, tool } from "../tool.ts";

/** An answer must come before the client gives up, which the official one does after 60 s. */
const TIMEOUT_S = 40;
/** Age limit of a cached page whose answer is read on: as old as the cache keeps pages. */
const CONTINUED_TTL_S = 86_400;
const MAP_LIMIT = 200;

const Selectors = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 1_000 }), { maxItems: 50, description }));

export const searchTool = tool({
  name: "search",
  title: "Search the web",
  description:
    "Search the web. Gives addresses, titles and short passages; read a page with fetch before you rely on it.",
  input: Type.Object({
    query: Type.String({ minLength: 1, maxLength: 2000, description: "What to look for" }),
    max_results: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
    freshness: Type.Optional(Type.Enum([...PERIODS], { description: "Only pages of this period" })),
    country: Type.Optional(Type.String({ description: "ISO 3166-1 alpha-2 code, as ch" })),
    language: Type.Optional(Type.String({ description: "As de or de-CH" })),
  }),
  async tell(args, { ask }) {
    const body = { ...args, max_results: args.max_results ?? 10 };
    const { results, request_id } = await contentOf(ask, { method: "POST", path: "/v1/search", body });
    const found = results as {
      url: string;
      title: string | null;
      snippets: string[];
      published_at: string | null;
    }[];
    const entries = found.map(({ url, title, snippets, published_at }, at) =>
      lines(
        `${at + 1}. ${link(title, url)}${published_at ? ` (${published_at.slice(0, 10)})` : ""}`,
        ...snippets.map((snippet) => `   ${inline(snippet)}`),
      ),
    );
    return {
      markdown:
        entries.length > 0
          ? `Results for “${inline(args.query)}”:\n\n${entries.join("\n\n")}`
          : `Nothing was found for “${inline(args.query)}”. Try fewer or other words.`,
      facts: { results: found.map(({ url, title }) => ({ url, title })), request_id },
    };
  },
});

export const fetchTool = tool({
  name: "fetch",
  title: "Read a page",
  description:
    "Read a web page, PDF, office document or feed as Markdown. Obeys robots.txt. Long pages are cut: go on with read_more.",
  input: Type.Object({
    url: Type.String({ minLength: 1, maxLength: 8192, description: "http(s) address" }),
    render: Type.Optional(
      Type.Enum(["auto", "never", "always"], {
        description: "Whether a browser runs its scripts. Default auto",
      }),
    ),
    fresh: Type.Optional(Type.Boolean({ description: "Not from the cache" })),
    country: Type.Optional(Type.String({ description: "ISO 3166-1 alpha-2 code: from where to ask" })),
    only_main_content: Type.Optional(Type.Boolean({ description: "false: menus and footers too" })),
    include_selectors: Selectors("CSS: only these elements"),
    exclude_selectors: Selectors("CSS: without these elements"),
  }),
  async tell({ url, render, fresh, country, ...content }, { ask, is_continued }) {
    const cache_ttl_s = is_continued ? CONTINUED_TTL_S : fresh ? 0 : null;
    const shape = { formats: ["markdown"], include_html: false, timeout_s: TIMEOUT_S };
    const body = {
      url,
      ...shape,
      ...content,
      cache_ttl_s,
      ...(render && { render }),
      ...(country && { country }),
    };
    const page = await contentOf(ask, { method: "POST", path: "/v1/fetch", body });
    const source: string = page.final_url ?? url;
    const text: string = page.markdown ?? page.text ?? "";
    const about = factLine({
      Source: source,
      retrieved: page.retrieved_at,
      published: page.meta?.published_at,
      author: page.meta?.author,
      "archived copy of": page.archived_at,
      paywall: page.paywall === "none" ? null : page.paywall,
      "open copy of": page.alternate_of,
    });
    return {
      head: about,
      markdown: text === "" ? `The page has no text (${page.content_type}).` : text,
      facts: {
        url: source,
        title: page.title,
        retrieved_at: page.retrieved_at,
        cached: page.cached,
        cost_usd: page.cost_usd,
        request_id: page.request_id,
      },
    };
  },
});

export const mapTool = tool({
  name: "map_site",
  title: "List a site's pages",
  description:
    "List the addresses of a site, from its sitemaps, feeds and start page; `search` keeps those that fit its words.",
  input: Type.Object({
    url: Type.String({ minLength: 1, maxLength: 8192 }),
    search: Type.Optional(Type.String({ maxLength: 500, description: "Words to rank and filter by" })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 5000, default: MAP_LIMIT })),
    include_subdomains: Type.Optional(Type.Boolean()),
  }),
  async tell(args, { ask }) {
    const body = { ...args, limit: args.limit ?? MAP_LIMIT, timeout_s: TIMEOUT_S };
    const map = await contentOf(ask, { method: "POST", path: "/v1/map", body });
    const links = map.links as { url: string; title: string | null; lastmod: string | null }[];
    const entries = links.map(
      ({ url, title, lastmod }) =>
        `- ${title === null ? `<${url}>` : link(title, url)}${lastmod ? ` (${lastmod})` : ""}`,
    );
    const more = map.truncated ? " More exist: narrow with search, or raise limit." : "";
    return {
      markdown: `${links.length} of ${map.total} addresses of ${args.url}.${more}\n\n${entries.join("\n")}`,
      facts: { url: args.url, total: map.total, truncated: map.truncated, request_id: map.request_id },
    };
  },
});

export const WEB_TOOLS: readonly Tool[] = [searchTool, fetchTool, mapTool];
