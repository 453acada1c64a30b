/** The imported capture of a page that a project may be given in the page's place. */
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { readBody } from "../../../../cluster/read-body.ts";
import type { ArchivedFetch } from "../../../../schemas/archives.ts";
import type { Redirect } from "../../../../schemas/fetch.ts";
import type { FindImported } from "../../../lib/web/imported-capture.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import { storedCaptures } from "../captures.ts";
import type { StoredCapture } from "../collections.ts";
import { fieldOf, joinedFields } from "../warc/record.ts";
import { findImport } from "./stored-import.ts";

const MAX_REDIRECTS = 5;

/** The newest whole capture that is a page, over redirects that were imported as well, whatever its age. Throws Fault. */
export const importedFinder =
  ({ documents, blobs }: { readonly documents: Documents; readonly blobs: Blobs }): FindImported =>
  async (project, asked, max_bytes) => {
    const redirects: Redirect[] = [];
    for (let url = asked; redirects.length <= MAX_REDIRECTS;) {
      const capture = await newest(documents, project, url);
      if (capture === null) return null;
      const archived = JSON.parse(
        (await readBody(blobs, capture.archive_sha256)).toString(),
      ) as ArchivedFetch;
      const { response } = archived.exchanges[capture.at]!;
      if (capture.status >= 300) {
        const location = fieldOf(response.fields, "location") ?? "";
        const target = location === "" ? null : parseUrl(location, new URL(capture.url));
        if (target === null) return null;
        redirects.push({ url: capture.url, status: capture.status, location });
        url = target.href;
        continue;
      }
      if (capture.bytes > max_bytes) return "too_large";
      const found = await findImport(documents, project, capture.import_id!);
      if (found === null) return null;
      const { body } = response;
      return {
        url: capture.url,
        redirects,
        headers: joinedFields(response.fields),
        body: body !== null && "sha256" in body ? await readBody(blobs, body.sha256) : Buffer.alloc(0),
        bytes: capture.bytes,
        captured_at: capture.date,
        source: found.stored.name,
        is_shared: found.stored.is_shared,
      };
    }
    return null;
  };

/** The newest imported capture that is a page or a redirect. */
async function newest(documents: Documents, project: string, url: string): Promise<StoredCapture | null> {
  let best: StoredCapture | null = null;
  for await (const capture of storedCaptures(documents, project, url, "exact")) {
    if (capture.import_id === undefined || capture.is_damaged) continue;
    const isUsable = capture.status === 200 || (capture.status >= 301 && capture.status <= 308);
    if (isUsable && (best === null || capture.date >= best.date)) best = capture;
  }
  return best;
}
