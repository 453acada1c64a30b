/** The settings of the company register and its sources. */
import { type Static, Type } from "typebox";
import type { SourceSettings } from "../source.ts";
import { isSchedule } from "../imports/schedule.ts";
import { SOURCE_NAMES, type SourceName, SOURCES } from "../sources/sources.ts";
import { closed, optionalSetting, textSetting, WEB } from "../../../../node/settings.ts";

const addressOf = ({ env, default: url, description }: Addressed["address"]) =>
  textSetting({ env, default: url, shared: true, rule: WEB, description });
const keyOf = ({ env, description }: Keyed["key"]) =>
  optionalSetting({ env, secret: true, shared: true, description });

type Entry = (typeof SOURCES)[SourceName];
type Addressed = Extract<Entry, { readonly address: unknown }>;
type Keyed = Extract<Entry, { readonly key: unknown }>;
type NamesOf<E> = { [N in SourceName]: (typeof SOURCES)[N] extends E ? N : never }[SourceName];

/** The address of each source that has one of its own, and the key of each that needs one: `gleif_url`, `zefix_key`. */
type SourceProperties = {
  [N in NamesOf<{ readonly address: unknown }> as `${N}_url`]: ReturnType<typeof addressOf>;
} & {
  [N in NamesOf<{ readonly key: unknown }> as `${N}_key`]: ReturnType<typeof keyOf>;
};

const SOURCE_PROPERTIES = Object.fromEntries(
  SOURCE_NAMES.flatMap((name) => {
    const entry = SOURCES[name];
    return [
      ...("address" in entry ? [[`${name}_url`, addressOf(entry.address)]] : []),
      ...("key" in entry ? [[`${name}_key`, keyOf(entry.key)]] : []),
    ];
  }),
) as SourceProperties;

export const SETTINGS = {
  companies: Type.Object(
    {
      ...SOURCE_PROPERTIES,
      profiles: Type.Enum(["off", "named", "on"], {
        env: "TRAWL_COMPANY_PROFILES",
        default: "off",
        shared: true,
        agreed: true,
        description:
          "Whether the profile site is a source of companies: on: of every refresh; named: only where a request names it in " +
          "`sources`. The request's key pays. It needs TRAWL_PROFILES=on.",
      }),
      imports_dir: optionalSetting({
        env: "TRAWL_COMPANY_IMPORTS_DIR",
        shared: true,
        description:
          "Folder with files of whole sources that are imported; all nodes must see it. Default: imports in the data folder.",
      }),
      import_schedule: Type.String({
        env: "TRAWL_COMPANY_IMPORT_SCHEDULE",
        default: "",
        shared: true,
        rule: {
          fits: isSchedule,
          expected: "KIND=ADDRESS@HOURSh, separated by blanks",
        },
        description:
          "Files of whole sources that are downloaded and imported again and again, KIND=ADDRESS@HOURSh separated by blanks: " +
          "`brreg=https://data.brreg.no/enhetsregisteret/api/enheter/lastned@24h`. Of `gleif_lei2`, `gleif_rr` and `gleif_repex` only " +
          "what changed is asked for after the first file, with the parameter `delta` of GLEIF's golden copy. Default: none.",
      }),
      people_retention_days: Type.Integer({
        env: "TRAWL_PEOPLE_RETENTION_DAYS",
        default: 30,
        minimum: 1,
        maximum: 3_650,
        shared: true,
        description:
          "How long data about persons of companies is stored after a source last confirmed it, in days.",
      }),
    },
    closed,
  ),
};

export type CompaniesSettings = Static<typeof SETTINGS.companies>;

/** The settings of a source with an address of its own. */
export function addressedSettings(settings: CompaniesSettings, name: SourceName): SourceSettings {
  const values = settings as Readonly<Record<string, unknown>>;
  const [url, key] = [values[`${name}_url`], values[`${name}_key`]];
  return {
    base_url: (url as string).replace(/(?<!\/)\/+$/, ""),
    credentials: (key as string | undefined) ?? null,
  };
}
