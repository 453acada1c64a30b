/**
 * The port to the company register, as far as filings need it: who is behind a listing, an ISIN or a name that files
 * nothing under it. Until the register is there it knows nobody.
 */
import type { FilerHint } from "../../schemas/filings.ts";

export type RegisterQuery =
  /** As it was asked, in upper case: `NESN.SW`, `SWX:NESN`, `NESN`. */
  | { readonly by: "listing"; readonly listing: string }
  | { readonly by: "isin"; readonly isin: string }
  | { readonly by: "name"; readonly name: string };

export type RegisterAnswer =
  | { readonly kind: "unknown" }
  | {
      readonly kind: "known";
      readonly company: FilerHint["company"];
      /** The home market's, `<exchange>:<ticker>` or `<ticker>.<suffix>`. */
      readonly listing: string | null;
      /** Legal, former and translated names. */
      readonly names: readonly string[];
      /** Where it is said to file. */
      readonly us_cik: number | null;
    };

export type Register = (question: RegisterQuery) => Promise<RegisterAnswer>;

export const noRegister: Register = async () => ({ kind: "unknown" });
