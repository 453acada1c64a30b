/**
 * Shared by the commands that are clients of the HTTP API: the service's address and key, one request, and a refusal as an
 * error message and an exit code.
 */
import { Command, InvalidArgumentError } from "commander";
import { KEY_MARKS } from "../../schemas/accounts.ts";
import type { ClientConfig } from "../client-config.ts";
import { ownUrl } from "../own-endpoints.ts";
import { profileNamed, profilesPath, readProfiles } from "../profiles.ts";
import { CommandError, type Context, EXIT, type Json, Unreachable, withJson } from "./context.ts";

/** The options for the service's address and the key. */
export interface ClientOptions extends Json {
  readonly url?: string;
  readonly key?: string;
  readonly profile?: string;
}

/** Longer than the service itself ever waits. */
const WAIT_MS = 180_000;
/** Limit for a request with a file. */
const UPLOAD_MS = 300_000;

const PROFILE_HELP =
  "the service and key of a profile (trawl login); default: TRAWL_PROFILE, else the current one";

export const clientCommand = (name: string): Command =>
  withJson(new Command(name))
    .option("--url <address>", "the service's address; default: TRAWL_URL, else HOST and PORT")
    .option("--key <key>", "the API key; default: TRAWL_KEY, else TRAWL_ADMIN_KEY")
    .option("--profile <name>", PROFILE_HELP);

/** A command that needs an operator key. */
export const operatorCommand = (name: string): Command =>
  withJson(new Command(name))
    .option("--url <address>", "the service's address; default: TRAWL_URL, else HOST and PORT")
    .option("--key <key>", "the operator key; default: TRAWL_OPERATOR_KEY, else the one in the data folder")
    .option("--profile <name>", PROFILE_HELP);

/** The service's base address without a slash at its end, and the key. */
export function service(context: Context, options: ClientOptions): { base: string; key: string } {
  const { url, key } = withProfile(context, options);
  const { client, gateway } = context.clientConfig();
  const base = baseOf(context.clientConfig(), url);
  const chosen = key ?? client.key ?? gateway.admin_key ?? operatorKeyOf(context, base);
  if (chosen === null)
    throw new CommandError(
      "No key: give --key, or set TRAWL_KEY (trawl key create --project default)",
      EXIT.key,
    );
  return { base, key: chosen };
}

/** Service and key for an operation of the operator. TRAWL_KEY may be the key of a customer: it is taken only where it is an operator's. */
export function operatedService(context: Context, options: ClientOptions): { base: string; key: string } {
  const { url, key: named } = withProfile(context, options);
  const isProfiles = named !== options.key;
  const key = isProfiles && !named?.startsWith(KEY_MARKS.operator) ? undefined : named;
  const { client } = context.clientConfig();
  const base = baseOf(context.clientConfig(), url);
  const given = key ?? (client.key?.startsWith(KEY_MARKS.operator) ? client.key : null);
  const chosen = given ?? operatorKeyOf(context, base);
  if (chosen === null)
    throw new CommandError(
      "No operator key: give --key or TRAWL_OPERATOR_KEY (trawl key create --operator), or run this where the node keeps its data",
      EXIT.key,
    );
  return { base, key: chosen };
}

/**
 * The address and key that were given, or those of a profile. The current one is taken where neither options nor settings name a service or a key,
 * so that a key is never sent to a service that it was not given for. Throws CommandError.
 */
function withProfile(context: Context, options: ClientOptions): Pick<ClientOptions, "url" | "key"> {
  const { url, key } = options;
  const { client, gateway } = context.clientConfig();
  const named = options.profile ?? client.profile;
  const path = profilesPath(context.environment);
  if (named !== undefined) {
    if (url !== undefined)
      throw new CommandError("A profile has an address: give --profile or --url", EXIT.usage);
    const profile = profileNamed(readProfiles(path), named);
    return { url: profile.url, key: key ?? profile.key };
  }
  const isGiven =
    url ?? key ?? client.url ?? client.key ?? gateway.admin_key ?? gateway.operator_key ?? gateway.public_url;
  if (isGiven !== undefined) return { ...(url !== undefined && { url }), ...(key !== undefined && { key }) };
  const profiles = readProfiles(path);
  return profiles.current === null ? {} : profileNamed(profiles, profiles.current);
}

export const baseOf = ({ client, gateway }: ClientConfig, url: string | undefined): string =>
  (url ?? client.url ?? gateway.public_url ?? ownUrl(gateway)).replace(/\/+$/, "");

/** The key in the data folder is of this configuration's service, and is sent to no other. */
function operatorKeyOf(context: Context, base: string): string | null {
  const config = context.clientConfig();
  const { operator_key, public_url } = config.gateway;
  if (operator_key !== undefined) return operator_key;
  const origins = [ownUrl(config.gateway), public_url ?? null].map((address) => address && originOf(address));
  const origin = originOf(base);
  return origin !== null && origins.includes(origin) ? (context.readOperatorKey?.(config) ?? null) : null;
}

const originOf = (address: string): string | null => URL.parse(address)?.origin ?? null;

interface Exchange {
  readonly reply: Response;
  readonly content: unknown;
}

export const post = (address: string, key: string, body: unknown): Promise<Exchange> =>
  exchange("POST", address, key, body);

export const upload = (
  address: string,
  key: string,
  file: { readonly content_type: string; readonly bytes: Uint8Array<ArrayBuffer> },
): Promise<Exchange> =>
  send("POST", address, key, { "content-type": file.content_type }, file.bytes, UPLOAD_MS);

/** Sends a request; answers the JSON of its answer, null without JSON. Throws CommandError when the service does not answer. */
export const exchange = (
  method: "GET" | "POST" | "PATCH" | "DELETE",
  address: string,
  key: string,
  body?: unknown,
): Promise<Exchange> =>
  send(method, address, key, { "content-type": "application/json" }, JSON.stringify(body), WAIT_MS);

async function send(
  method: string,
  address: string,
  key: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  wait_ms: number,
): Promise<Exchange> {
  try {
    const reply = await fetch(address, {
      method,
      headers: { authorization: `Bearer ${key}`, ...headers },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(wait_ms),
    });
    return { reply, content: await reply.json().catch(() => null) };
  } catch (problem) {
    if ((problem as Error).name === "TimeoutError")
      throw new Unreachable(`No answer from ${address} within ${wait_ms / 1000} s`, EXIT.time);
    const cause = (problem as Error).cause as NodeJS.ErrnoException | undefined;
    throw new Unreachable(`Cannot reach ${address}: ${cause?.code ?? (problem as Error).message}`);
  }
}

/** The bytes of a body. Throws CommandError when they do not come. */
export async function download(address: string, key: string): Promise<Buffer> {
  const reply = await fetch(address, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(WAIT_MS),
  }).catch((problem: unknown) => {
    throw new CommandError(`Cannot download ${address}: ${(problem as Error).message}`);
  });
  if (!reply.ok) throw errorOf(reply, await reply.json().catch(() => null));
  return Buffer.from(await reply.arrayBuffer());
}

/** Without undefined options: the service has its own defaults. */
export const withoutUndefined = <T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };

/** The service's refusal as a sentence and an exit code. */
export function errorOf({ status }: Response, content: unknown): CommandError {
  const { detail } = (content ?? {}) as { detail?: unknown };
  const message = typeof detail === "string" ? detail : sentence(detail);
  const code =
    { 401: EXIT.key, 403: EXIT.key, 422: EXIT.usage, 429: EXIT.limit, 504: EXIT.time }[status] ?? EXIT.error;
  const isAway = status >= 502 && status <= 504;
  return new (isAway ? Unreachable : CommandError)(`${status}: ${message}`, code);
}

function sentence(detail: unknown): string {
  if (Array.isArray(detail))
    return (detail as { loc: unknown[]; msg: string }[])
      .map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`)
      .join("; ");
  const { error, message, hint } = (detail ?? {}) as Record<string, string | undefined>;
  return [error ?? "no explanation", message ?? hint].filter((part) => part !== undefined).join(": ");
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError("Not a whole number.");
  return Number(text);
}
