/** What the compiler refuses of a source of companies. */
import type { OpenSource, SourceFailure, SourceSettings } from "../../actors/companies/source.ts";
import { openSources } from "../../actors/companies/sources/sources.ts";

const failure: SourceFailure = { kind: "failed", error: "timeout", message: "", retry_after_s: null };

// @ts-expect-error A source says what it is.
export const withoutDescription: OpenSource = () => ({ inactive_because: null, lookup: async () => failure });

// @ts-expect-error An answer that names no kind is none.
export const failed: SourceFailure = { error: "timeout", message: "", retry_after_s: null };

const settings: SourceSettings = { base_url: "https://register.example", credentials: null };
// @ts-expect-error Every source that is listed is given its settings: one without them would be absent in silence.
export const absent = () => openSources({ gleif: settings });
