/**
 * The format version of stored data: a number in the document `format/data`. DATA_FORMAT increases when the names or shapes of
 * stored documents change, with a step in migrations.ts. A node that starts migrates older data in place; data of a newer
 * format is refused, so that a version never misreads what another one wrote.
 */
import type { Documents, Versioned } from "../cluster/ports/documents.ts";
import type { Log } from "../cluster/ports/log.ts";
import { canMigrate, type MigrationCursor, migrateStep } from "./migrations.ts";
import { collection } from "../cluster/collection.ts";

/** 1: the collections and fields since the data of version 0.1.0, which had no format number. */
/** 2: accounts by customer, project and key; a customer's budget; a job's quota. */
/** 3: the failures of a domain by scope. */
/** 4: rows of the ledger compressed. */
/** 5: rows of the ledger by columns. */
/** 6: columns of the ledger by runs. */
/** 7: what a domain's origins asked for, and their failures, by origin. */
/** 8: secrets of webhooks, callbacks and items sealed. */
/** 9: a checksum beside each document, which an earlier version would leave as it is when it writes. */
/** 10: an identifier of several companies names stored ones only. */
export const DATA_FORMAT = 10;

const KEY = "data";

interface FormatDocument {
  readonly format: number;
  /** How far the step to the next format came. */
  readonly migrating?: MigrationCursor;
}

export const FORMATS = collection<FormatDocument>("format");

/** Thrown at start with a sentence for the operator. */
export class DataFormatError extends Error {
  override readonly name = "DataFormatError";
}

/** For a node that starts; a command beside a running service migrates nothing. */
export interface MigrationPermit {
  /** Throws when a node of an older version may be running on the data. */
  readonly assertNoneRuns: () => Promise<void>;
  readonly log: Log;
}

/**
 * Writes the number to an empty store, and migrates older data where that is permitted. Throws DataFormatError when the data has
 * another format, or no number.
 */
export async function assertDataFormat(
  documents: Documents,
  place: string,
  permit: MigrationPermit | null = null,
): Promise<void> {
  const stored = (await formatOf(documents)) ?? (await writeFormat(documents));
  if (stored === DATA_FORMAT) return;
  if (stored === null || stored > DATA_FORMAT || !canMigrate(stored))
    throw new DataFormatError(
      `Cannot use the data in ${place}: it has ${stored === null ? "no format number, as version 0.1.0 left it" : `format ${stored}`}, ` +
        `and this version reads format ${DATA_FORMAT}. Start the version that wrote it, or start with an empty store: ` +
        "another TRAWL_DATA_DIR, or another database in TRAWL_DOCUMENTS",
    );
  if (permit === null)
    throw new DataFormatError(
      `Cannot use the data in ${place} yet: it has format ${stored}, and this version reads format ${DATA_FORMAT}. ` +
        "Stop the nodes of the older version and start one of this version, which migrates the data",
    );
  await permit.assertNoneRuns();
  await migrate(documents, place, permit.log);
}

/** Step by step, each recorded when it is done. Throws Fault. */
async function migrate(documents: Documents, place: string, log: Log): Promise<void> {
  for (;;) {
    const stored = (await FORMATS.read(documents, KEY))!;
    const { format, migrating } = stored.value;
    if (format >= DATA_FORMAT) return;
    log.info("Stored data is migrated", {
      place,
      from: format,
      to: format + 1,
      continues: migrating !== undefined,
    });
    let current: Versioned<FormatDocument> = stored;
    const record = async (value: FormatDocument): Promise<void> => {
      // A node that starts at the same time migrates, too: what either has stored is true.
      if (await FORMATS.put(documents, KEY, value, current.version))
        current = { value, version: current.version + 1 };
      else current = (await FORMATS.read(documents, KEY))!;
    };
    const rewritten = await migrateStep(documents, {
      from: format,
      cursor: migrating ?? null,
      async onPage(cursor) {
        if (current.value.format === format) await record({ format, migrating: cursor });
      },
    });
    if (current.value.format === format) await record({ format: format + 1 });
    log.info("Stored data was migrated", { place, to: format + 1, documents: rewritten });
  }
}

async function formatOf(documents: Documents): Promise<number | null> {
  const stored = await FORMATS.read(documents, KEY);
  return stored === null ? null : stored.value.format;
}

/** The format that stands there afterwards; null: the store has data and no number. */
async function writeFormat(documents: Documents): Promise<number | null> {
  if (await documents.isEmpty()) await FORMATS.put(documents, KEY, { format: DATA_FORMAT }, 0);
  // Another node may have written the number and its first documents meanwhile.
  return formatOf(documents);
}
