/**
 * How a setting is described: its variable, default, description and rule. The sections of the node are in
 * node-settings.ts, those of a slice in its feature.ts; ops/config.ts reads them all.
 */
import { Type } from "typebox";

/** A section with no setting given is the section of defaults; unknown names are mistakes. */
export const closed = { additionalProperties: false, default: {} } as const;

/** Rules that a pattern cannot express, with what is expected instead. */
export interface Rule {
  readonly fits: (text: string) => boolean;
  readonly expected: string;
}

export const isUrl = (text: string, ...protocols: string[]): boolean => {
  // Placeholders of the proxy address are filled in later.
  const url = URL.parse(text.replace(/\{(session|country)\}/g, "x"));
  return url !== null && protocols.includes(url.protocol.slice(0, -1));
};

export const WEB: Rule = {
  fits: (text) => isUrl(text, "http", "https"),
  expected: "an http or https address",
};
export const WEB_OR_NONE: Rule = {
  fits: (text) => text === "none" || WEB.fits(text),
  expected: `${WEB.expected}, or none`,
};

export interface SettingSpec {
  readonly env: string;
  readonly description: string;
  /** Masked in `trawl config`; may be given as a file with `<variable>_FILE`. */
  readonly secret?: boolean;
  /** Must be the same on all nodes of a cluster. */
  readonly shared?: boolean;
  /** A node whose value differs from that of the running nodes does not join: data or politeness would be wrong. */
  readonly agreed?: boolean;
  readonly rule?: Rule;
  readonly default?: unknown;
}

export const textSetting = (spec: SettingSpec) => Type.String({ minLength: 1, ...spec });
export const optionalSetting = (spec: SettingSpec) => Type.Optional(textSetting(spec));
export const listSetting = (spec: SettingSpec) =>
  Type.Array(Type.String({ minLength: 1 }), { ...spec, default: spec.default ?? [] });
