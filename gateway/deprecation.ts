/**
 * Notices in each answer of a deprecated operation: since when it is (RFC 9745), from when on it may be gone (RFC 8594), and where to read what
 * takes its place. They refuse nothing: the operation works until it is removed.
 */

export interface Deprecation {
  /** A day, `2026-11-26`; may lie ahead. */
  readonly since: string;
  /** A day, not before `since` (RFC 9745 §4). Null: no end is decided. */
  readonly sunset: string | null;
  /** A page of `/docs` that says what to do, such as `/docs/api/fetch`. */
  readonly page: string;
  /** The path of the operation that takes its place. Null: none does. */
  readonly successor: string | null;
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** The header fields of its answers. Throws TypeError for a day that is none, and for a sunset before the deprecation. */
export function deprecationHeaders({
  since,
  sunset,
  page,
  successor,
}: Deprecation): Readonly<Record<"Deprecation" | "Link", string>> & { readonly Sunset?: string } {
  const since_ms = dayOf(since);
  const sunset_ms = sunset === null ? null : dayOf(sunset);
  if (sunset_ms !== null && sunset_ms < since_ms)
    throw new TypeError(`The sunset ${sunset} is before the deprecation ${since}`);
  const links = [`<${page}>; rel="deprecation"; type="text/html"`];
  // RFC 8594 §6 and RFC 5829 §3.2.
  if (sunset !== null) links.push(`<${page}>; rel="sunset"; type="text/html"`);
  if (successor !== null) links.push(`<${successor}>; rel="successor-version"`);
  return {
    Deprecation: `@${since_ms / 1000}`,
    Link: links.join(", "),
    ...(sunset_ms !== null && { Sunset: new Date(sunset_ms).toUTCString() }),
  };
}

/** A sentence for people, for the document of the API. */
export function deprecationSentence({ since, sunset, page, successor }: Deprecation): string {
  const end = sunset === null ? "" : `, and may be gone from ${sunset} on`;
  const instead = successor === null ? "" : ` Use \`${successor}\`.`;
  return `Deprecated since ${since}${end}: [what to do](${page}).${instead}`;
}

/** Unix milliseconds of its midnight in UTC. */
function dayOf(day: string): number {
  const ms = DAY.test(day) ? Date.parse(day) : NaN;
  if (Number.isNaN(ms)) throw new TypeError(`"${day}" is no day like 2026-11-26`);
  return ms;
}
