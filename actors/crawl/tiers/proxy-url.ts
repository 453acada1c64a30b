/** The URL of the residential proxy for one site: which exit node, and in which country. */
import { createHash } from "node:crypto";

/** Long enough that two sites do not share an exit, short enough for the providers' limits on session names. */
const SESSION_CHARS = 16;
const AGAIN_CHARS = 8;

/** The session name for a site and country, equal for all fetches on all nodes. */
export function sessionOf(site: string, country: string | null): string {
  return digest(`${site} ${country?.toLowerCase() ?? ""}`).slice(0, SESSION_CHARS);
}

/** Another session, for the one retry with a different exit. */
export const anotherSession = (session: string): string =>
  `${session}-${digest(session).slice(0, AGAIN_CHARS)}`;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * `{country}` with the word and punctuation before it: providers parse user names like "name-country-fr-session-1a2b"
 * and reject "-country-" without a country.
 */
const COUNTRY = /(?:[-_.;,&~](?:country|cc|cr|geo|region)[-_=.:~]|[-_.;,&~])?\{country\}/gi;

/**
 * Fills `{session}` and `{country}` (in lower case) into the operator's URL. Without a country, the placeholder is
 * removed with its prefix: `user-country-{country}` becomes `user`.
 */
export function proxyUrl(template: string, session: string, country: string | null): string {
  const placed =
    country === null
      ? template.replaceAll(COUNTRY, "")
      : template.replaceAll("{country}", encodeURIComponent(country.toLowerCase()));
  return placed.replaceAll("{session}", session);
}
