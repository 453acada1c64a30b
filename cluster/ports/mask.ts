/**
 * Masks what must not be shown: passwords and query secrets of addresses, and fields that are named like secrets. One rule for
 * answers, pages, log lines and the command line. What is in the path of an address is shown.
 */

/** Words in the name of a query parameter or field whose value is a secret: "access_token", "X-Amz-Signature", "apiKey". */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  "accesskey",
  "accesstoken",
  "apikey",
  "apitoken",
  "auth",
  "authkey",
  "authorization",
  "authtoken",
  "clientsecret",
  "cookie",
  "cookies",
  "credential",
  "credentials",
  "hmac",
  "jwt",
  "key",
  "pass",
  "passwd",
  "password",
  "pwd",
  "secret",
  "session",
  "sessionid",
  "sid",
  "sig",
  "signature",
  "token",
]);
export const MASKED = "***";

/** Whether a parameter or field with this name holds a secret. */
export const isSecretName = (name: string): boolean =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .some((word) => SECRET_WORDS.has(word)) || SECRET_WORDS.has(name.toLowerCase());

/** A user name without a password is a token as often as a name. Both may have apostrophes, which addresses leave as they are. */
const USER_INFO = /(:\/\/)[^/?#\s"<>]*@/g;
const PARAMETER = /([?&;])([^=&;?#\s"'<>]{1,100})=([^&;#\s"'<>]+)/g;

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Text with the user information and the query secrets of its addresses masked; an address alone is such a text. */
export function maskAddresses(text: string): string {
  const bare = text.includes("@") ? text.replaceAll(USER_INFO, `$1${MASKED}@`) : text;
  if (!bare.includes("=")) return bare;
  return bare.replaceAll(PARAMETER, (whole, mark: string, name: string) =>
    isSecretName(decoded(name)) ? `${mark}${name}=${MASKED}` : whole,
  );
}

const MAX_DEPTH = 20;

/** A JSON value with its addresses masked, and everything in fields that are named like secrets. */
export function maskValue(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return maskAddresses(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return MASKED;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      isSecretName(name) && field !== null ? MASKED : maskValue(field, depth + 1),
    ]),
  );
}
