/**
 * The settings of the service. Each section configures one module; each setting has a variable, a default and a description,
 * and `trawl config` and the table of docs/settings.md are generated from them. This file reads no environment and no file:
 * main.ts passes both in, once.
 */
import type { TObject, TSchema } from "typebox";
import { Type } from "typebox";
import { Default, Errors } from "typebox/value";
import { MASKED, maskAddresses } from "../cluster/ports/mask.ts";
import { nearestName } from "../gateway/nearest-name.ts";
import type { AnyFeature, FeatureSettings } from "../node/feature.ts";
import { FEATURES } from "./features.ts";
import { NODE_SECTIONS, type NodeConfig } from "../node/node-settings.ts";
import { closed, type SettingSpec } from "../node/settings.ts";

/** All sections: the node's and those of every feature. */
const SECTIONS = Object.assign({}, NODE_SECTIONS, ...FEATURES.map(({ settings }) => settings)) as Record<
  string,
  TObject
>;
const Config = Type.Object(SECTIONS, closed);

export type Config = NodeConfig & FeatureSettings<typeof FEATURES>;

interface Setting extends SettingSpec {
  readonly section: string;
  readonly name: string;
  readonly type?: string;
}

/** Every setting beside its place. */
export const SETTINGS: readonly Setting[] = Object.entries(Config.properties).flatMap(
  ([section, { properties }]) =>
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

/**
 * Throws one ConfigError that names every wrong variable, so that the operator can correct all at once. `readFile`
 * serves the `_FILE` variants of secrets.
 */
export function readConfig(environment: Environment, readFile: (path: string) => string = unread): Config {
  const mistakes: string[] = [];
  const values: Record<string, Record<string, unknown>> = {};
  for (const { section, name, env, type = "", secret, rule } of SETTINGS) {
    const raw = secret ? fromFile(env, environment, readFile, mistakes) : environment[env];
    if (raw === undefined || raw === "") continue;
    const value = READERS[type]?.(raw) ?? raw;
    (values[section] ??= {})[name] = value;
    const parts = Array.isArray(value) ? (value as string[]) : typeof value === "string" ? [value] : [];
    const wrongPart = rule && parts.find((part) => !rule.fits(part));
    if (wrongPart !== undefined)
      mistakes.push(`${env} must be ${rule!.expected}${quoted(wrongPart, secret)}`);
  }
  const config = Default(Config, values) as Config;
  for (const { instancePath, message } of Errors(Config, config)) {
    const setting = settingAt(instancePath);
    const value = setting && values[setting.section]?.[setting.name];
    mistakes.push(`${setting?.env ?? instancePath} ${message}${quoted(value, setting?.secret)}`);
  }
  for (const feature of FEATURES as readonly AnyFeature[]) {
    const wrong = feature.problem?.(config as never);
    if (wrong) mistakes.push(`${wrong.env} ${wrong.message}`);
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith("TRAWL_") || isKnown(name)) continue;
    const near = nearestName(
      name,
      SETTINGS.map(({ env }) => env),
    );
    mistakes.push(`${name} is not a setting${near ? `; did you mean ${near}?` : ""}`);
  }
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

function settingAt(path: string): Setting | undefined {
  const [, section, name] = path.split("/");
  return SETTINGS.find((setting) => setting.section === section && setting.name === name);
}

const isKnown = (name: string): boolean =>
  SETTINGS.some(({ env, secret }) => env === name || (secret && `${env}_FILE` === name));

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

/** One line of `trawl config`. */
export interface SettingRow {
  readonly variable: string;
  /** As text; null: not set and without a default. */
  readonly value: string | null;
  readonly from: "environment" | "default";
  readonly description: string;
  readonly shared: boolean;
}

type Values = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** The effective values, secrets masked. */
export function settingRows(config: Config, environment: Environment): readonly SettingRow[] {
  return SETTINGS.map(({ section, name, env, secret = false, shared = false, description }) => {
    const value = (config as unknown as Record<string, Values>)[section]![name];
    const raw = value === undefined ? null : typeof value === "object" ? value.join(",") : String(value);
    return {
      variable: env,
      value: raw === null ? null : secret ? "***" : masked(raw),
      from: environment[env] || environment[`${env}_FILE`] ? "environment" : "default",
      description,
      shared,
    };
  });
}
