/** Keeps what a single request has exchanged, for as long as its project may download it. Items of jobs are kept by their jobs. */
import { bodyRefs } from "../../../cluster/body-refs.ts";
import type { Blobs } from "../../../cluster/ports/blobs.ts";
import { readBody } from "../../../cluster/read-body.ts";
import type { ArchivedFetch } from "../../../schemas/archives.ts";
import type { Clock } from "../../../cluster/ports/clock.ts";
import type { Documents } from "../../../cluster/ports/documents.ts";
import { type PageRecord, partDigests } from "../../../schemas/fetch.ts";
import { capturesOf, storeCaptures } from "./captures.ts";
import { ARCHIVED_REQUESTS } from "./collections.ts";

export const ARCHIVE_TTL_MS = 30 * 24 * 60 * 60_000;

const keyOf = (project: string, request_id: string): string => `${project} ${request_id}`;

export interface ArchiveKeeper {
  /** Resolves when the exchanges that the record names are the project's under this id. Throws Fault. */
  readonly keep: (project: string, request_id: string, record: PageRecord) => Promise<void>;
  /** Puts the documents of a fetch into the project's index. Whatever keeps the record keeps their bodies. Throws Fault. */
  readonly index: (project: string, record: PageRecord) => Promise<void>;
  /** Null: nothing was kept, or its time is over. Throws Fault. */
  readonly find: (project: string, request_id: string) => Promise<PageRecord | null>;
}

export function archiveKeeper({
  blobs,
  documents,
  clock,
}: {
  readonly blobs: Blobs;
  readonly documents: Documents;
  readonly clock: Clock;
}): ArchiveKeeper {
  const refs = bodyRefs(documents);

  async function index(project: string, record: PageRecord): Promise<void> {
    if (!record.archive) return;
    const { sha256 } = record.archive;
    const archived = JSON.parse((await readBody(blobs, sha256)).toString()) as ArchivedFetch;
    await storeCaptures(
      documents,
      project,
      capturesOf(archived, record, sha256),
      clock.now() + ARCHIVE_TTL_MS,
    );
  }

  return {
    index,
    async keep(project, request_id, record) {
      if (!record.archive) return;
      const expires_at_ms = clock.now() + ARCHIVE_TTL_MS;
      await refs.retain([record.sha256, ...partDigests(record)], `archive ${request_id}`, expires_at_ms);
      // False: it is a repeated call, and the same exchanges are there.
      await ARCHIVED_REQUESTS.put(documents, keyOf(project, request_id), { record }, 0, { expires_at_ms });
      await index(project, record);
    },
    async find(project, request_id) {
      const kept = await ARCHIVED_REQUESTS.get(documents, keyOf(project, request_id));
      return kept?.record ?? null;
    },
  };
}
