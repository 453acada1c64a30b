/** Tokens that the filing system gives to other features. */
import { token } from "../../../../node/token.ts";
import type { SourceRequest } from "../../../../schemas/filing-source.ts";
import type { SourceAnswer } from "../../../../schemas/upstream.ts";

/** Reads a document of the filing system. Throws Fault. */
export type ReadFilingDocument = (request: SourceRequest) => Promise<SourceAnswer>;

/** Null: the filing system is off. */
export const FilingDocuments = token<ReadFilingDocument | null>("filing documents");
