/**
 * Reads sections of settings out of an environment: each setting from its variable, or the file that its `_FILE` variant names, with its default
 * and its rule. Which sections there are, is config.ts' and client-config.ts'. It reads no environment and no file by itself.
 */
import { type TSchema, Type } from "typebox";
import { Default, Errors } from "typebox/value";
import { MASKED, maskAddresses } from "../cluster/ports/mask.ts";
import type { Sections } from "../node/feature.ts";
import { closed, type SettingSpec } from "../node/settings.ts";

export interface Setting extends SettingSpec {
  readonly section: string;
  readonly name: string;
  readonly type?: string;
}

/** Every setting beside its place. */
export const settingsOf = (sections: Sections): readonly Setting[] =>
  Object.entries(sections).flatMap(([section, { properties }]) =>
    Object.entries<TSchema>(properties).map(([name, schema]) => ({
      section,
      name,
      ...(schema as unknown as SettingSpec),
    })),
  );

/** How a variable's text becomes a value. What does not fit stays text, so the schema can say what is wrong with it. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (raw) => (/^-?\d+$/.test(raw) ? Number(raw) : raw),
  array: (raw) =>
    raw
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
};

export type Environment = Readonly<Record<string, string | undefined>>;

/** Several mistakes in one message, each naming its variable. */
export class ConfigError extends TypeError {
  override readonly name = "ConfigError";
}

/** `readFile` serves the `_FILE` variants of secrets. Of each mistake one sentence, which names its variable. */
export function readSections(
  sections: Sections,
  environment: Environment,
  readFile: (path: string) => string = unread,
): { readonly config: unknown; readonly mistakes: string[] } {
  const settings = settingsOf(sections);
  const schema = Type.Object(sections, closed);
  const mistakes: string[] = [];
  const values: Record<string, Record<string, unknown>> = {};
  for (const { section, name, env, type = "", secret, rule } of settings) {
    const raw = secret ? fromFile(env, environment, readFile, mistakes) : environment[env];
    if (raw === undefined || raw === "") continue;
    const value = READERS[type]?.(raw) ?? raw;
    (values[section] ??= {})[name] = value;
    const parts = Array.isArray(value) ? (value as string[]) : typeof value === "string" ? [value] : [];
    const wrongPart = rule && parts.find((part) => !rule.fits(part));
    if (wrongPart !== undefined)
      mistakes.push(`${env} must be ${rule!.expected}${quoted(wrongPart, secret)}`);
  }
  const config = Default(schema, values);
  for (const { instancePath, message } of Errors(schema, config)) {
    const [, section, name] = instancePath.split("/");
    const setting = settings.find((each) => each.section === section && each.name === name);
    const value = setting && values[setting.section]?.[setting.name];
    mistakes.push(`${setting?.env ?? instancePath} ${message}${quoted(value, setting?.secret)}`);
  }
  return { config, mistakes };
}

/** Throws ConfigError where there are mistakes: the operator can correct all at once. */
export function checked<T extends object>(config: T, mistakes: readonly string[]): T {
  if (mistakes.length > 0)
    throw new ConfigError(`Cannot start with this configuration:\n${[...new Set(mistakes)].join("\n")}`);
  return frozen(config);
}

function unread(path: string): string {
  throw new Error(`Cannot read "${path}": files are not read here`);
}

function fromFile(
  env: string,
  environment: Environment,
  readFile: (path: string) => string,
  mistakes: string[],
): string | undefined {
  const path = environment[`${env}_FILE`];
  if (path === undefined || path === "") return environment[env];
  if (environment[env]) mistakes.push(`${env} and ${env}_FILE are both given; one of them is enough`);
  try {
    return readFile(path).trim();
  } catch (problem) {
    const reason = (problem as NodeJS.ErrnoException).code ?? (problem as Error).message;
    mistakes.push(`${env}_FILE cannot be read from "${path}": ${reason}`);
    return undefined;
  }
}

const quoted = (value: unknown, secret: boolean | undefined): string =>
  typeof value !== "string" || secret ? "" : `, not "${masked(value)}"`;

function frozen<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === "object" && part !== null) frozen(part);
  return Object.freeze(value);
}

/**
 * Text with its secrets masked: user and password of an address, parameters named like secrets, and the local part of an
 * e-mail address.
 */
export const masked = (raw: string): string =>
  maskAddresses(raw.replace(/(^|\s)([^\s@/:])[^\s@/:]*@/g, `$1$2${MASKED}@`));
