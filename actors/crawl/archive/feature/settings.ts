/** The settings of signatures of WACZ files: a certificate, its key and an authority for their time. */
import { type Static, Type } from "typebox";
import { closed, optionalSetting, WEB } from "../../../../node/settings.ts";

export const SETTINGS = {
  wacz: Type.Object(
    {
      cert: optionalSetting({
        env: "TRAWL_WACZ_CERT",
        description:
          "A file with the certificate of a domain, then those of its issuers up to the root (PEM, an EC key): WACZ files are signed with it. Default: they are signed anonymously. Read again for each signature.",
      }),
      key: optionalSetting({
        env: "TRAWL_WACZ_KEY",
        description: "A file with the key of TRAWL_WACZ_CERT (PEM, without a passphrase).",
      }),
      timestamp_url: optionalSetting({
        env: "TRAWL_WACZ_TIMESTAMP_URL",
        shared: true,
        rule: WEB,
        description:
          "The time stamp authority (RFC 3161) that is asked once for each WACZ file; its host may be private. Needed with TRAWL_WACZ_CERT.",
      }),
    },
    closed,
  ),
};

export type ArchiveSettings = { readonly [S in keyof typeof SETTINGS]: Static<(typeof SETTINGS)[S]> };

const ENVS = {
  cert: "TRAWL_WACZ_CERT",
  key: "TRAWL_WACZ_KEY",
  timestamp_url: "TRAWL_WACZ_TIMESTAMP_URL",
} as const;

/** All three or none: verifiers accept no signature with a certificate that has no time. */
export function signingProblem({ wacz }: ArchiveSettings): { env: string; message: string } | null {
  const names = Object.keys(ENVS) as (keyof typeof ENVS)[];
  const lacking = names.find((name) => wacz[name] === undefined);
  const given = names.find((name) => wacz[name] !== undefined);
  if (lacking === undefined || given === undefined) return null;
  return { env: ENVS[lacking], message: `is needed with ${ENVS[given]}` };
}
