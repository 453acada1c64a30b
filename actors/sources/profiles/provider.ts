/**
 * The specifics of one profile site: its addresses, its words and its markup. Each site is one file in providers/. A
 * provider makes no request and knows no route; everything in it is a pure function.
 */
import type { CheerioAPI } from "cheerio/slim";
import type { Connections, PageProfile, SuggestItem } from "../../../schemas/profiles.ts";

/** Facts that the address of a profile page shows by itself. */
export interface ProfilePath {
  /** The name and the place, as text. */
  readonly words: string;
  /** ISO 3166-1 alpha-2; null where the address does not show it. */
  readonly country: string | null;
  readonly has_register: boolean;
}

/** A page that is no profile, whatever it looks like. */
export type Wall =
  /** It asks for an account, which the crawler never has. */
  | "login"
  /** It asks for a proof that its reader is human. */
  | "challenge"
  /** A list of what the site found instead of the page. */
  | "results";

export interface ProfileReading {
  readonly profile: PageProfile;
  /** The token that the site's own page sends with its request for the graph. */
  readonly graph_token: string | null;
  /** Titles of sections that the provider does not know. */
  readonly unknown_sections: readonly string[];
}

export interface Provider {
  readonly name: string;
  /** Grows when the same bytes give another profile. */
  readonly parser_version: string;
  /** The site's name in a search query. */
  readonly site_name: string;
  /** Null: the address is no profile page. `url` is on one of the site's hosts. */
  readonly pathOf: (url: URL) => ProfilePath | null;
  readonly isEntityId: (text: string) => boolean;
  /** `origin` without a slash at the end. */
  readonly suggestUrl: (origin: string, query: string, country: string | null) => string;
  readonly graphUrl: (origin: string, entity_id: string, token: string | null) => string;
  readonly wallOf: (page: CheerioAPI, url: string) => Wall | null;
  /** Null: the page is no profile. */
  readonly readProfile: (page: CheerioAPI, url: string) => ProfileReading | null;
  /** Companies only. Null: the document has another shape. */
  readonly readSuggest: (document: unknown, url: string) => readonly SuggestItem[] | null;
  readonly readGraph: (document: unknown, url: string) => Connections | null;
}
