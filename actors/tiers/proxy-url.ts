/** The address of the residential network for one site: which exit is asked for, and where it should be. */
import { createHash } from "node:crypto";

/** Long enough that two sites do not share an exit, short enough for every provider's limit on session names. */
const SESSION_CHARS = 16;
const AGAIN_CHARS = 8;

/** The name of the exit for a site: the same one for every fetch of that site from that country, on every node. */
export function sessionOf(site: string, country: string | null): string {
  return digest(`${site} ${country?.toLowerCase() ?? ""}`).slice(0, SESSION_CHARS);
}

/** Another exit, for the one time the first could not be used. */
export const anotherSession = (session: string): string =>
  `${session}-${digest(session).slice(0, AGAIN_CHARS)}`;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * `{country}` with the word and the marks before it: providers read user names as "name-country-fr-session-1a2b", and
 * "-country-" without a country is an error to them.
 */
const COUNTRY = /(?:[-_.;,&~](?:country|cc|cr|geo|region)[-_=.:~]|[-_.;,&~])?\{country\}/gi;

/**
 * Fills `{session}` and `{country}` (in lower case) into the operator's address; without a country the placeholder goes
 * together with what announces it: `user-country-{country}` becomes `user`.
 */
export function proxyUrl(template: string, session: string, country: string | null): string {
  const placed =
    country === null
      ? template.replaceAll(COUNTRY, "")
      : template.replaceAll("{country}", encodeURIComponent(country.toLowerCase()));
  return placed.replaceAll("{session}", session);
}
