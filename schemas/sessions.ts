/**
 * /v1/sessions: what a caller's requests have in common, as a person's browser has: cookies, a user agent, a language, and secrets that
 * steps type. A session belongs to its project, lives a day at most, and its cookies and secrets are sealed wherever they are stored or sent.
 */
import { type Static, Type } from "typebox";
import { Component, CountryCode, Field, Nullable, Timestamp } from "./common.ts";

/** Limit of one project at once. */
export const MAX_SESSIONS = 500;
/** The cookies of a session, as JSON; the oldest go first. They travel in a message. */
export const MAX_JAR_BYTES = 65_536;

/** That a session begins with. */
const MAX_GIVEN_COOKIES = 500;

/** Limit of one session. Secrets travel in a message. */
export const MAX_SECRETS = 20;
/** Length of a secret's value. A shorter one would be hidden wherever a page has these few characters. */
const MIN_SECRET_CHARS = 4;
const MAX_SECRET_CHARS = 1_024;
/** Pattern of a secret's name. */
export const SECRET_NAME = "^[A-Za-z][A-Za-z0-9_-]{0,63}$";

export const SessionId = Type.String({ pattern: "^ses_[0-9a-hjkmnp-tv-z]{16}$" });

/** A cookie that a session begins with, as browsers export them. */
export const SessionCookie = Component("SessionCookie", {
  name: Field(Type.String({ minLength: 1, maxLength: 256 }), "Its name", "sid"),
  value: Field(Type.String({ maxLength: 4_096 }), "Its value", "2f6c1e"),
  domain: Field(
    Type.String({ minLength: 1, maxLength: 255 }),
    "The host that it goes to; with a dot before it, the hosts of that domain",
    ".example.org",
  ),
  path: Type.Optional(
    Field(
      Type.String({ minLength: 1, maxLength: 1_024, default: "/" }),
      "The paths that it goes to begin with this one",
      "/shop",
    ),
  ),
  expires: Type.Optional(
    Field(
      Nullable(Type.Number({ minimum: -1, maximum: 1e11 })),
      "When its time is over, in seconds since 1970. Default, or -1: with the session",
      1_798_761_600,
    ),
  ),
  secure: Type.Optional(Field(Type.Boolean({ default: false }), "Whether it goes by https alone", true)),
  http_only: Type.Optional(
    Field(Type.Boolean({ default: false }), "Whether scripts of a page do not see it", true),
  ),
});
export type SessionCookie = Static<typeof SessionCookie>;

/** A secret that a step may type. */
export const SessionSecret = Component("SessionSecret", {
  value: Field(
    Type.String({ minLength: MIN_SECRET_CHARS, maxLength: MAX_SECRET_CHARS }),
    "What is typed, 4 to 1,024 characters. It is stored encrypted and answered nowhere",
    "correct horse",
  ),
  origin: Type.Optional(
    Field(
      Nullable(Type.String({ minLength: 1, maxLength: 300 })),
      "The only origin (scheme, host, port) into whose pages it is typed. Default: that of the `url` of each fetch",
      "https://login.example.org",
    ),
  ),
});
export type SessionSecret = Static<typeof SessionSecret>;

const SECRETS_RULE = `${MAX_SECRETS} a session at most; a name begins with a letter and has letters, digits, "-" and "_", 64 at most`;

export const SessionBody = Component("SessionBody", {
  ttl_s: Type.Optional(
    Field(
      Type.Integer({ minimum: 60, maximum: 86_400, default: 3_600 }),
      "How long it lives, in seconds, whether it is used or not",
    ),
  ),
  user_agent: Type.Optional(
    Field(
      Nullable(Type.String({ maxLength: 500 })),
      "The User-Agent of its requests; the project needs permission",
      "example-bot/1.0",
    ),
  ),
  accept_language: Type.Optional(
    Field(Nullable(Type.String({ maxLength: 200 })), "The Accept-Language of its requests", "de-CH,de;q=0.9"),
  ),
  country: Type.Optional(
    Field(
      Nullable(CountryCode),
      "The country of its exit, ISO 3166-1 alpha-2: its requests take the route proxy and no other, by one exit. Refused where the service has no proxy with exits by country",
      "ch",
    ),
  ),
  cookies: Type.Optional(
    Field(
      Nullable(Type.Array(SessionCookie, { maxItems: MAX_GIVEN_COOKIES })),
      "Cookies that it begins with, such as those of a browser in which somebody has logged in. They are stored encrypted and shown to nobody",
    ),
  ),
  secrets: Type.Optional(
    Field(
      Nullable(Type.Record(Type.String(), SessionSecret)),
      `By name, what a step of the type \`type\` types with \`secret\`: passwords, for example. ${SECRETS_RULE}`,
      { password: { value: "correct horse" } },
    ),
  ),
  label: Type.Optional(
    Field(Nullable(Type.String({ maxLength: 200 })), "A name for people", "Shop, logged in"),
  ),
});
export type SessionBody = Static<typeof SessionBody>;

export const SessionPatch = Component("SessionPatch", {
  secrets: Field(
    Type.Record(Type.String(), Nullable(SessionSecret)),
    `Secrets to add or replace, by name; null removes one, and the others stay. ${SECRETS_RULE}`,
    { password: { value: "correct horse" }, pin: null },
  ),
});
export type SessionPatch = Static<typeof SessionPatch>;

/** A secret as it is shown. */
export const NamedSecret = Component("NamedSecret", {
  name: Field(Type.String(), "Its name, for `secret` of a step", "password"),
  origin: Field(
    Nullable(Type.String()),
    "The only origin into whose pages it is typed; null: that of the `url` of each fetch",
    "https://login.example.org",
  ),
});
export type NamedSecret = Static<typeof NamedSecret>;

/** A session as it is shown: never what its cookies and secrets say. */
export const SessionView = Component("Session", {
  session_id: Field(SessionId, "Its id, for `session_id` of a fetch", "ses_wyvsfbx2x89mpyyv"),
  label: Field(Nullable(Type.String()), "The name that it was given", "Shop, logged in"),
  created_at: Field(Timestamp, "When it was made"),
  expires_at: Field(Timestamp, "When its time is over"),
  last_used_at: Field(Nullable(Timestamp), "When a fetch with it last ended; null: none has"),
  user_agent: Field(Nullable(Type.String()), "The User-Agent of its requests", "example-bot/1.0"),
  accept_language: Field(Nullable(Type.String()), "The Accept-Language of its requests", "de-CH"),
  country: Field(Nullable(CountryCode), "The country of its exit; null: it has none", "ch"),
  cookies: Field(Type.Integer({ minimum: 0 }), "How many cookies it holds", 3),
  secrets: Field(Type.Array(NamedSecret), "Its secrets, without their values"),
});
export type SessionView = Static<typeof SessionView>;

/** An option of a fetch. */
export const SESSION_FIELDS = {
  session_id: Type.Optional(
    Field(
      Nullable(SessionId),
      "A session of POST /v1/sessions: its cookies go to the sites that set them, and what sites set is kept in it. The routes direct and browser only, of a session with `country` proxy only; the answer belongs to the project, as one to `cookies`",
      "ses_wyvsfbx2x89mpyyv",
    ),
  ),
};

/** As it is stored, by project and id. */
export interface StoredSession {
  readonly id: string;
  readonly project: string;
  readonly label: string | null;
  readonly created_ms: number;
  readonly expires_ms: number;
  readonly used_ms: number | null;
  readonly user_agent: string | null;
  readonly accept_language: string | null;
  /** In lower case, as its exit is named. Default: it has no exit of its own. */
  readonly country?: string;
  /** Sealed. */
  readonly jar: string;
  readonly cookies: number;
  /** Sealed. Default: it has none. */
  readonly secrets?: string;
  /** Secrets that `secrets` has. */
  readonly secret_names?: readonly NamedSecret[];
}

export const sessionKey = (project: string, id: string): string => `${project} ${id}`;

/** Where the cookies of a session are sealed for, the changes of one request to them, and its secrets. */
export const sessionPlace = (project: string, id: string, field: "jar" | "changes" | "secrets") => ({
  collection: "sessions",
  key: sessionKey(project, id),
  field,
});
