/**
 * Reads a document of the profile site: what it says, or why it says nothing. Walls are recognised before anything is
 * parsed, on rendered pages too. Pure; it runs in reader processes (adapters/reader-tasks.ts).
 */
import { load } from "cheerio/slim";
import type { Connections, ProfilePageKind, SuggestItem } from "../../../schemas/profiles.ts";
import type { ProfileReading, Provider, Wall } from "./provider.ts";

/** Pages with less text are not the page. */
const MIN_TEXT_CHARS = 200;

export type PageReading =
  | { readonly kind: "profile"; readonly reading: ProfileReading }
  | { readonly kind: "suggest"; readonly items: readonly SuggestItem[] }
  | { readonly kind: "graph"; readonly connections: Connections }
  /** A page that nothing is read of. */
  | { readonly kind: "other" }
  | { readonly kind: Wall | "thin" | "not_json" | "no_profile" };

export interface PageText {
  readonly kind: ProfilePageKind;
  readonly text: string;
  /** Where it was found. */
  readonly url: string;
}

export function readPage(provider: Provider, { kind, text, url }: PageText): PageReading {
  switch (kind) {
    case "suggest":
    case "graph":
      return readData(provider, { kind, text, url });
    case "page":
    case "other": {
      const page = load(text);
      const wall = provider.wallOf(page, url);
      if (wall !== null && !(kind === "other" && wall === "results")) return { kind: wall };
      if (kind === "other") return { kind: "other" };
      // Before the scripts are removed: a profile's data may be in them.
      const reading = provider.readProfile(page, url);
      page("head, title, script, style, noscript, template").remove();
      const chars = page.root().text().replaceAll(/\s+/g, " ").trim().length;
      if (chars < MIN_TEXT_CHARS) return { kind: "thin" };
      return reading === null ? { kind: "no_profile" } : { kind: "profile", reading };
    }
  }
}

function readData(
  provider: Provider,
  { kind, text, url }: PageText & { readonly kind: "suggest" | "graph" },
): PageReading {
  const document = jsonOf(text);
  if (document === undefined) return { kind: provider.wallOf(load(text), url) ?? "not_json" };
  if (kind === "suggest") {
    const items = provider.readSuggest(document, url);
    return items === null ? { kind: "not_json" } : { kind, items };
  }
  const connections = provider.readGraph(document, url);
  return connections === null ? { kind: "not_json" } : { kind, connections };
}

/** JSON as it was sent, or as a browser shows it; undefined: it is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(/^\s*</.test(text) ? shownText(text) : text) as unknown;
  } catch {
    return undefined;
  }
}

/** A browser shows JSON as the text of an element. */
function shownText(html: string): string {
  const page = load(html);
  const shown = page("pre").first();
  return shown.length > 0 ? shown.text() : page.root().text();
}
