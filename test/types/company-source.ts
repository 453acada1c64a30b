/** Sources of companies that the compiler refuses. */
import type { OpenSource, SourceFailure } from "../../actors/sources/companies/source.ts";
import type { SourceEntry } from "../../actors/sources/companies/sources/sources.ts";

const failure: SourceFailure = { kind: "failed", error: "timeout", message: "", retry_after_s: null };

// @ts-expect-error A source says what it is.
export const withoutDescription: OpenSource = () => ({ inactive_because: null, lookup: async () => failure });

// @ts-expect-error An answer that names no kind is none.
export const failed: SourceFailure = { error: "timeout", message: "", retry_after_s: null };

// @ts-expect-error An entry says how the source is asked, at an address of its own or through a slice: its settings follow from that.
export const absent: SourceEntry = { load: async () => withoutDescription };
