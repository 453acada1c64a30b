/**
 * The port to a company register: the company behind a listing, an ISIN or a name that is on no list of filers. The
 * register is the companies slice; `noRegister` is for a service without it and answers "unknown" to every query.
 */
import type { FilerHint } from "../../../schemas/filings.ts";

export type RegisterQuery =
  /** As the caller sent it, in upper case: `NESN.SW`, `SWX:NESN`, `NESN`. */
  | { readonly by: "listing"; readonly listing: string }
  | { readonly by: "isin"; readonly isin: string }
  | { readonly by: "name"; readonly name: string };

export type RegisterAnswer =
  | { readonly kind: "unknown" }
  | {
      readonly kind: "known";
      readonly company: FilerHint["company"];
      /** At the home market: `<exchange>:<ticker>` or `<ticker>.<suffix>`. */
      readonly listing: string | null;
      /** Legal, former and translated names. */
      readonly names: readonly string[];
      /** The CIK the company files under, as far as the register says. */
      readonly us_cik: number | null;
    };

/** For whom the register is asked: it may ask its sources for a company that it does not have. */
export interface RegisterCaller {
  readonly project: string;
  readonly lane: "sync" | "batch";
}

export type Register = (question: RegisterQuery, caller: RegisterCaller) => Promise<RegisterAnswer>;
