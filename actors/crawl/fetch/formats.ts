/** Formats of a page that is stored without them: derived from its stored body, and stored beside it. */
import { findBody } from "../../../cluster/read-body.ts";
import { bodyRefs } from "../../../cluster/body-refs.ts";
import type { Versioned } from "../../../cluster/ports/documents.ts";
import type { PageRecord } from "../../../schemas/fetch.ts";
import { type CachedPage, expiryOf } from "./freshness.ts";
import { formatsBody, pageOptions } from "./page-store.ts";
import type { ExtractCaller } from "../../reading/extraction-result.ts";
import type { PipelineDeps } from "./run.ts";
import { PAGES } from "./collections.ts";

export function formatsDeriver({
  clock,
  documents,
  blobs,
  extract,
}: Pick<PipelineDeps, "clock" | "documents" | "blobs" | "extract">) {
  const refs = bodyRefs(documents);

  /**
   * The page's record with `formats_sha256`: null where the document has none, or could not be read again. Null when the body is
   * lost. A page that was stored anew in the meantime is left as it is.
   */
  return async function deriveFormats(
    digest: string,
    page: CachedPage,
    stored: Versioned,
    caller: ExtractCaller,
  ): Promise<PageRecord | null> {
    const { sha256, content_kind, content_type, final_url } = page.record;
    const bytes = sha256 === null ? null : await findBody(blobs, sha256);
    if (bytes === null) return null;
    const task = {
      bytes,
      url: final_url ?? page.url,
      content_type,
      kind: content_kind ?? "binary",
      now_ms: clock.now(),
      with_formats: true,
    };
    const result = await extract(task, caller);
    const formats = result.kind === "done" ? (result.value.formats ?? null) : null;
    const body = formats && formatsBody(formats);
    const formats_sha256 = body && (await blobs.put(body)).sha256;
    const record = { ...page.record, formats_sha256 };
    if (result.kind === "failed") return record;
    if (formats_sha256) await refs.retain([formats_sha256], `page ${digest}`, expiryOf(page));
    await PAGES.put(documents, digest, { ...page, record }, stored.version, pageOptions(page));
    return record;
  };
}
