/**
 * The secrets of a session, which steps type: what a caller may give, how they are stored, and how they are hidden in what a page brings.
 * Only the route that types one opens it; which page gets it is page-actions.ts.
 */
import { MASKED } from "../../../cluster/ports/mask.ts";
import type { Secrets } from "../../../cluster/ports/secrets.ts";
import {
  MAX_SECRETS,
  type NamedSecret,
  SECRET_NAME,
  sessionPlace,
  type SessionSecret,
} from "../../../schemas/sessions.ts";
import { originOf } from "./url.ts";

/** Null removes the secret. */
export type GivenSecrets = Readonly<Record<string, SessionSecret | null>>;

interface StoredSecret extends NamedSecret {
  readonly value: string;
}

export const NO_SECRETS = "[]";

/** Secrets as they are sealed, and as they are shown. */
export interface WrittenSecrets {
  readonly text: string;
  readonly names: readonly NamedSecret[];
}

const isName = (name: string): boolean => new RegExp(SECRET_NAME).test(name);
const HAS_CONTROLS = /\p{Cc}/u;

/** Null: it is no origin of http or https. */
function originIn(given: string): string | null {
  const url = URL.parse(given);
  const isWeb = url?.protocol === "http:" || url?.protocol === "https:";
  return isWeb && url.href === `${url.origin}/` ? url.origin : null;
}

/** A mistake in one of the secrets beyond its schema, by its place; null: there is none. Its sentence has nothing of a value. */
export function secretsMistake(
  given: GivenSecrets,
): { readonly loc: readonly string[]; readonly message: string } | null {
  for (const [name, secret] of Object.entries(given)) {
    const wrong = (message: string, ...field: string[]) => ({ loc: [name, ...field], message });
    if (!isName(name))
      return wrong('a name begins with a letter and has letters, digits, "-" and "_", 64 at most');
    if (secret === null) continue;
    if (HAS_CONTROLS.test(secret.value) || !secret.value.isWellFormed())
      return wrong("a secret has no control characters and no half of a surrogate pair", "value");
    if (secret.origin != null && originIn(secret.origin) === null)
      return wrong("an origin is a scheme, a host and a port, as https://login.example.org", "origin");
  }
  return null;
}

/** The secrets with these added, replaced and removed; null: there would be more than MAX_SECRETS. */
export function withSecrets(text: string, given: GivenSecrets): WrittenSecrets | null {
  const secrets = new Map((JSON.parse(text) as StoredSecret[]).map((secret) => [secret.name, secret]));
  for (const [name, secret] of Object.entries(given)) {
    if (secret === null) secrets.delete(name);
    else {
      const origin = secret.origin == null ? null : originIn(secret.origin);
      secrets.set(name, { name, origin, value: secret.value });
    }
  }
  if (secrets.size > MAX_SECRETS) return null;
  const all = [...secrets.values()];
  return { text: JSON.stringify(all), names: all.map(({ name, origin }) => ({ name, origin })) };
}

/** A secret of a request, and the one origin into whose pages it is typed. */
export interface TypedSecret {
  readonly value: string;
  readonly origin: string;
}

/** By name, those of the request's session that are named. Throws Fault secret_unreadable. */
export type OpenSecrets = (
  request: {
    readonly url: string;
    readonly project?: string;
    readonly session_id?: string;
    readonly session_secrets?: string;
  },
  names: readonly string[],
) => ReadonlyMap<string, TypedSecret>;

export const noSecrets: OpenSecrets = () => new Map();

export const secretsOpener =
  ({ open }: Pick<Secrets, "open">): OpenSecrets =>
  ({ url, project = "", session_id = "", session_secrets }, names) => {
    if (session_secrets === undefined || names.length === 0) return new Map();
    const text = open(session_secrets, sessionPlace(project, session_id, "secrets"));
    const all = (JSON.parse(text) as StoredSecret[]).filter(({ name }) => names.includes(name));
    return new Map(all.map(({ name, value, origin }) => [name, { value, origin: origin ?? originOf(url) }]));
  };

/** Hides secrets in texts, bytes, and everything of lists, maps and records. What has none is as it was. */
export type HideSecrets = <T>(value: T) => T;

export function hiderOf(secrets: Iterable<TypedSecret>): HideSecrets {
  const forms = [...new Set([...secrets].flatMap(({ value }) => formsOf(value)))].toSorted(
    (a, b) => b.length - a.length,
  );
  if (forms.length === 0) return (value) => value;
  const inText = (text: string): string => forms.reduce((left, form) => left.replaceAll(form, MASKED), text);
  // As Latin-1 each byte is a character.
  const asBytes = forms.map((form) => Buffer.from(form).toString("latin1"));
  const inBytes = (bytes: Buffer): Buffer => {
    if (!forms.some((form) => bytes.includes(form))) return bytes;
    const text = bytes.toString("latin1");
    return Buffer.from(
      asBytes.reduce((left, form) => left.replaceAll(form, MASKED), text),
      "latin1",
    );
  };
  const hide = (value: unknown): unknown => {
    if (typeof value === "string") return inText(value);
    if (Buffer.isBuffer(value)) return inBytes(value);
    if (value instanceof Map) return new Map([...value].map(([name, each]) => [name, hide(each)]));
    if (Array.isArray(value)) return value.map(hide);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, hide(each)]));
  };
  return <T>(value: T): T => hide(value) as T;
}

/** A value as a page, an address, a form and JSON have it. */
function formsOf(value: string): readonly string[] {
  const inHtml = value.replaceAll("&", "&amp;").replaceAll("\u00a0", "&nbsp;");
  const inElement = inHtml.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return [
    value,
    encodeURI(value),
    encodeURIComponent(value),
    new URLSearchParams([["", value]]).toString().slice(1),
    JSON.stringify(value).slice(1, -1),
    inElement,
    // Older browsers leave "<" and ">" in attributes as they are.
    inHtml.replaceAll('"', "&quot;"),
    inElement.replaceAll('"', "&quot;"),
  ];
}
