/** Operations of theirs that this service does not have: each says so, with what to use instead where there is something. */
import { Type } from "typebox";
import type { Method, Route } from "../route.ts";
import { route } from "../route.ts";
import { errorReply, refusalAs } from "./errors.ts";

const MODEL = "a language model would be needed";
const WEB = "only the web is searched";

/** Path, the methods, what it is for, and why it is not here. */
export const UNSERVED: readonly (readonly [path: string, methods: readonly Method[], reason: string])[] = [
  ["/v2/parse", ["POST"], "files are not uploaded: give their address to /v2/scrape"],
  ["/v2/parse/formats", ["GET"], "files are not uploaded: give their address to /v2/scrape"],
  ["/v2/agent", ["GET", "POST"], MODEL],
  ["/v2/agent/{id}", ["GET", "DELETE"], MODEL],
  ["/v2/agent/{id}/trace", ["GET"], MODEL],
  ["/v2/agent/{id}/snapshots/{snapshot}", ["GET"], MODEL],
  ["/v2/agent/threads/{id}", ["GET"], MODEL],
  ["/v2/browser", ["GET", "POST"], "browsers are not lent out"],
  ["/v2/browser/{id}", ["DELETE"], "browsers are not lent out"],
  ["/v2/browser/{id}/execute", ["POST"], "browsers are not lent out"],
  ["/v2/scrape/{id}/interact", ["POST", "DELETE"], "a page that was fetched has no browser any more"],
  ["/v2/crawl/params-preview", ["POST"], MODEL],
  ["/v2/search/developer", ["POST"], WEB],
  ["/v2/search/gov", ["POST"], WEB],
  ["/v2/search/research/papers", ["GET"], WEB],
  ["/v2/search/research/papers/{id}", ["GET"], WEB],
  ["/v2/search/research/papers/{id}/similar", ["GET"], WEB],
  ["/v2/search/research/github", ["GET"], WEB],
  ["/v2/feedback", ["POST"], "ratings are not collected"],
  ["/v2/search/{id}/feedback", ["POST"], "ratings are not collected"],
  ["/v2/team/token-usage", ["GET"], "tokens are not billed; /v2/team/credit-usage has the pages"],
  ["/v2/team/token-usage/historical", ["GET"], "tokens are not billed; GET /v1/usage has earlier months"],
  ["/v2/team/credit-usage/historical", ["GET"], "GET /v1/usage has earlier months"],
];

const Body = Type.Record(Type.String(), Type.Unknown());

const nameOf = (method: string, path: string): string =>
  `firecrawl${method}${path.replaceAll(/[^a-z0-9]+(.)?/gi, (_, next: string = "") => next.toUpperCase())}`;

export const unservedRoutes = (): readonly Route[] =>
  UNSERVED.flatMap(([path, methods, reason]) =>
    methods.map((method) =>
      route({
        method,
        path,
        operationId: nameOf(method, path),
        summary: "Not served",
        tags: ["firecrawl"],
        audience: "protocols",
        refusalAs,
        ...(method.startsWith("P") && { body: Body, raw: true }),
        replies: { 501: { description: reason, schema: Body } },
        handle: () =>
          errorReply({
            status: 501,
            code: "NOT_SUPPORTED",
            error: `${method} ${path.replace(/\{(\w+)\}/g, "<$1>")} is not served here: ${reason}`,
          }),
      }),
    ),
  );
