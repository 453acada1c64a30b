/** Which addresses of one depth come first: what is likely content before lists and their parameters. A priority, never a cut. */
import { nameOf } from "./key.ts";

const LOWEST = 7;
const MIDDLE = 3;
/** Words of lists (courlan's, and Heritrix's of calendars). */
const LISTING =
  /^(?:page|tags?|category|categories|author|archives?|search|index|calendar|events?|feed|login|signup|cart|share|print)$/i;
/** Words of a segment that make it the title of a page. */
const TITLE_WORDS = 3;

/** 0 to 7; the lowest is first. */
export function priorityOf(url: URL): number {
  const segments = url.pathname.split("/").filter((segment) => segment !== "");
  const parameters = url.search
    .slice(1)
    .split("&")
    .filter((piece) => nameOf(piece) !== "");
  const isContent = (segments.at(-1) ?? "").split(/[-_]/).length >= TITLE_WORDS;
  const isListing = segments.some((segment) => LISTING.test(segment));
  const priority =
    MIDDLE - Number(isContent) - Number(segments.length <= 1) + 2 * Number(isListing) + parameters.length;
  return Math.min(LOWEST, Math.max(0, priority));
}
