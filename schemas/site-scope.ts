/** Scope of a crawl: where its addresses are, and where redirects of its pages may lead. */
import { type Static, Type } from "typebox";

export const SCOPES = ["path", "host", "subdomains", "domain"] as const;
export type Scope = (typeof SCOPES)[number];

export const SiteScope = Type.Object({
  kind: Type.Enum([...SCOPES]),
  /** `path`: hosts with the path of a folder; `host` and `subdomains`: hosts; `domain`: registrable domains. Hosts are without "www.". */
  places: Type.Array(Type.String()),
});
export type SiteScope = Static<typeof SiteScope>;
