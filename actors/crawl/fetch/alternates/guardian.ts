/** The Guardian's open API, as a source of its own articles: the request's address and the parsed answer. Pure functions. */
import { type Static, Type } from "typebox";
import { compiled } from "../../../../cluster/contracts/compiled.ts";

const HOSTS = /^(?:www\.|amp\.|m\.)?(?:theguardian\.com|guardian\.co\.uk)$/i;

/** The article's id, which is the path of its page: `world/2026/nov/20/some-story`. Null for other sites and pages. */
export function guardianId(url: string): string | null {
  const { hostname, pathname } = new URL(url);
  const id = pathname.replaceAll(/^\/+|\/+$/g, "");
  return HOSTS.test(hostname) && /^[a-z0-9-]+(?:\/[a-z0-9-]+)*\/\d{4}\/[a-z]{3}\/\d{2}\/[a-z0-9-]+$/.test(id)
    ? id
    : null;
}

/** The address of the copy, without the key; `api_url` does not end with a slash. */
export const guardianAddress = (api_url: string, id: string): string => `${api_url}/${id}`;

export const guardianRequestUrl = (api_url: string, id: string, key: string): string =>
  `${guardianAddress(api_url, id)}?${new URLSearchParams({ "show-fields": "headline,byline,body", "api-key": key }).toString()}`;

const Item = Type.Object({
  response: Type.Object({
    status: Type.Literal("ok"),
    content: Type.Object({
      id: Type.String(),
      webTitle: Type.Optional(Type.String()),
      webPublicationDate: Type.Optional(Type.String()),
      fields: Type.Object({
        headline: Type.Optional(Type.String()),
        byline: Type.Optional(Type.String()),
        body: Type.String(),
      }),
    }),
  }),
});
const item = compiled(Item);

export interface EmbeddedArticle {
  readonly title: string | null;
  readonly author: string | null;
  readonly published: string | null;
  readonly html: string;
}

/** Null when the answer is of another form or another article. */
export function readGuardian(body: string, id: string): EmbeddedArticle | null {
  const answer = parseJson(body);
  if (!item.check(answer)) return null;
  const { content } = (answer satisfies Static<typeof Item>).response;
  if (content.id !== id) return null;
  const { headline, byline, body: html } = content.fields;
  return {
    title: headline ?? content.webTitle ?? null,
    author: byline ?? null,
    published: content.webPublicationDate ?? null,
    html,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
