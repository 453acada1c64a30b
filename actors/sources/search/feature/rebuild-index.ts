/**
 * Makes the built-in index again from the page cache, where it is empty: its file was lost, or damaged and set aside. A project
 * finds the pages again whose bodies it retrieved within 30 days.
 */
import type { Node } from "../../../../cluster/node-record.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import { findBody } from "../../../../cluster/read-body.ts";
import { asCachedPage } from "../../../crawl/fetch/freshness.ts";
import type { StoredPage } from "../../../crawl/fetch/run.ts";
import { PAGES } from "../../../crawl/fetch/collections.ts";
import { BODY_GRANTS } from "../../../../records/body-grants.ts";

const LISTED_AT_ONCE = 50;
const PROJECTS_AT_ONCE = 1_000;

/** Answers how many pages were given to `onPage`, one for each project. Throws Fault. */
export async function readCachedPages({
  documents,
  blobs,
  isStopped,
  onPage,
}: Pick<Node, "blobs"> & {
  readonly documents: Pick<Documents, "list">;
  readonly isStopped: () => boolean;
  readonly onPage: (page: StoredPage) => void;
}): Promise<number> {
  let count = 0;
  for (let from: string | null = ""; from !== null && !isStopped();) {
    const listed = await PAGES.list(documents, { from, limit: LISTED_AT_ONCE });
    for (const { value } of listed) {
      const page = asCachedPage(value);
      if (page === null || page.record.sha256 === null || isStopped()) continue;
      const { url, record } = page;
      const body = await findBody(blobs, page.record.sha256).catch(() => null);
      if (body === null) continue;
      const long = record.text_sha256 && (await findBody(blobs, record.text_sha256).catch(() => null));
      const text = record.text ?? long?.toString() ?? "";
      const headers = new Map(Object.entries(record.headers));
      const projects = new Set(await projectsOf(documents, page.record.sha256));
      if (page.right) projects.add(page.right.project);
      for (const project of projects) {
        onPage({ url, project, record, text, headers, body });
        count++;
      }
    }
    from = listed.length < LISTED_AT_ONCE ? null : `${listed.at(-1)!.key}\0`;
  }
  return count;
}

/** Projects whose rights to the body are documents of their own: with keys of digest and project. */
async function projectsOf(documents: Pick<Documents, "list">, sha256: string): Promise<readonly string[]> {
  const range = { from: `${sha256}:`, to: `${sha256};`, limit: PROJECTS_AT_ONCE };
  const grants = await BODY_GRANTS.list(documents, range);
  return grants.map(({ key }) => key.slice(sha256.length + 1));
}
