/** Puts the pages of imports into the search index of this node, extracted as fetched pages are. */
import type { JoinedNode } from "../../../../node/feature.ts";
import { EMPTY_RECORD } from "../../../../schemas/fetch.ts";
import { sha256Of } from "../../../../cluster/ports/blobs.ts";
import { contentKindOf } from "../../../lib/web/http.ts";
import type { PageIndex } from "../../../sources/search/feature/tokens.ts";
import { storedCaptures } from "../captures.ts";
import type { RunDeps } from "../import/run-import.ts";
import { fieldOf, joinedFields } from "../warc/record.ts";

/** As long as a fetch takes for its extraction, with the waiting for a reader. */
const MAX_READ_MS = 120_000;

export function importedPages(
  { documents, clock, extract }: Pick<JoinedNode, "documents" | "clock" | "extract">,
  index: PageIndex,
): { readonly add: RunDeps["index"]; readonly remove: RunDeps["unindex"] } {
  return {
    async add({ url, project, is_shared, date, fields, body }) {
      if (index.local === null) return false;
      // The index has one text of an address: that of the newest capture.
      for await (const other of storedCaptures(documents, project, url, "exact"))
        if (other.date > date && other.status === 200) return false;
      const content_type = fieldOf(fields, "content-type") ?? null;
      const content_kind = contentKindOf(content_type, body, url);
      if (content_kind === "binary") return false;
      const task = { bytes: body, url, content_type, kind: content_kind, now_ms: clock.now() };
      const result = await extract(task, { signal: AbortSignal.timeout(MAX_READ_MS), project });
      if (result.kind !== "done") return false;
      const { title, meta, text } = result.value;
      const headers = joinedFields(fields);
      const record = { ...EMPTY_RECORD, final_url: url, content_kind, title, meta, sha256: sha256Of(body) };
      return index.onImported({ url, project, record, text, headers, body }, is_shared);
    },
    remove: (page) => index.onImportRemoved(page),
  };
}
