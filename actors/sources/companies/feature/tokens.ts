/** Tokens that the company register gives to other features. */
import { token } from "../../../../node/token.ts";
import type { Register } from "../../filings/register.ts";
import type { Imports } from "../imports/imported-company.ts";
import type { ImportStore } from "../imports/store.ts";
import type { CompanyIndex } from "../search-index.ts";

/** The index of the register's companies. */
export const IndexOfCompanies = token<CompanyIndex>("company index");
/** Companies of whole sources: their rows, and what they say. */
export const CompanyImports = token<{ readonly store: ImportStore; readonly imports: Imports }>(
  "company imports",
);
/** Finds stored companies by an ISIN, a listing or a name. Throws Fault. */
export const FindCompany = token<Register>("company finder");
