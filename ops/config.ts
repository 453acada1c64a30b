/**
 * The settings of the service. Each section configures one module; each setting has a variable, a default and a description,
 * and `trawl config` and the table of docs/settings.md are generated from them. settings-reader.ts reads them; main.ts passes
 * the environment and files in, once.
 */
import type { TObject } from "typebox";
import { nearestName } from "../gateway/nearest-name.ts";
import type { AnyFeature, FeatureSettings } from "../node/feature.ts";
import { FEATURES } from "./features.ts";
import { NODE_SECTIONS, type NodeConfig } from "../node/node-settings.ts";
import {
  checked,
  type Environment,
  masked,
  readSections,
  type Setting,
  settingsOf,
} from "./settings-reader.ts";

/** All sections: the node's and those of every feature. */
const SECTIONS = Object.assign({}, NODE_SECTIONS, ...FEATURES.map(({ settings }) => settings)) as Record<
  string,
  TObject
>;
export type Config = NodeConfig & FeatureSettings<typeof FEATURES>;

/** Every setting beside its place. */
export const SETTINGS: readonly Setting[] = settingsOf(SECTIONS);

/**
 * Throws one ConfigError that names every wrong variable, so that the operator can correct all at once. `readFile`
 * serves the `_FILE` variants of secrets.
 */
export function readConfig(environment: Environment, readFile?: (path: string) => string): Config {
  const read = readSections(SECTIONS, environment, readFile);
  const config = read.config as Config;
  const mistakes = [...read.mistakes];
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
  return checked(config, mistakes);
}

const isKnown = (name: string): boolean =>
  SETTINGS.some(({ env, secret }) => env === name || (secret && `${env}_FILE` === name));

/** A line of `trawl config`. */
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
