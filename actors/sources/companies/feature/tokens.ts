/** What the company register gives to other features. */
import { token } from "../../../../node/token.ts";
import type { Register } from "../../filings/register.ts";
import type { CompanyIndex } from "../search-index.ts";

/** The index of the register's companies. */
export const IndexOfCompanies = token<CompanyIndex>("company index");
/** Finds stored companies by an ISIN, a listing or a name. Throws Fault. */
export const FindCompany = token<Register>("company finder");
