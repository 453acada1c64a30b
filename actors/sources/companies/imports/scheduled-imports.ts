/**
 * The next file of a source that the operator's schedule names: asked for when it is due, with the validators of the last answer. When a request was
 * made is stored, so that restarts ask no sooner; the import actor of the source calls it, so that one node does.
 */
import { join } from "node:path";
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Documents } from "../../../../cluster/ports/documents.ts";
import type { Log } from "../../../../cluster/ports/log.ts";
import type { ImportOrder } from "../../../../schemas/companies.ts";
import { runsOf } from "./run-import.ts";
import {
  fileToAsk,
  IMPORT_SCHEDULES,
  isDue,
  nextRequestMs,
  publishedInName,
  type ScheduledFile,
  type ScheduleState,
} from "./schedule.ts";
import type { ImportStore } from "./store.ts";

export interface DownloadRequest {
  readonly address: string;
  readonly etag: string | null;
  readonly last_modified: string | null;
  readonly path: string;
  readonly user_agent: string;
  readonly signal: AbortSignal;
}

export type Download =
  | {
      readonly kind: "downloaded";
      /** Behind redirects. */
      readonly address: string;
      readonly etag: string | null;
      readonly last_modified: string | null;
    }
  | { readonly kind: "unchanged" }
  | { readonly kind: "failed"; readonly problem: string };

interface ScheduledDeps {
  readonly documents: Documents;
  readonly download: (request: DownloadRequest) => Promise<Download>;
  readonly store: ImportStore;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  readonly user_agent: string;
  readonly folder: string;
  readonly schedule: readonly ScheduledFile[];
}

export interface NextFile {
  readonly order: ImportOrder;
  /** The run is stored: the file is not asked for again. Throws Fault. */
  readonly onBegun: () => Promise<void>;
}

/** Null: nothing of the source is due, or its files are as they were. Throws Fault. */
export type FindNextFile = (source: string, signal: AbortSignal) => Promise<NextFile | null>;

export function scheduledImports(deps: ScheduledDeps): FindNextFile {
  const { documents, download, store, clock, log, user_agent, folder, schedule } = deps;

  async function remember(file: ScheduledFile, state: Omit<ScheduleState, "next_ms">, isFailed: boolean) {
    const next_ms = nextRequestMs(file, clock.now(), isFailed);
    await IMPORT_SCHEDULES.update(documents, file.kind.name, () => ({ value: { ...state, next_ms } }));
  }

  async function ask(file: ScheduledFile, known: ScheduleState | null, signal: AbortSignal) {
    const { kind } = file;
    const runs = (await runsOf(store, kind.name)).filter(({ state }) => state === "done");
    const imported_ms = runs.length === 0 ? null : Math.max(...runs.map(({ publish_ms }) => publish_ms));
    const { address, is_full } = fileToAsk(file, imported_ms, clock.now());
    const isKnown = known?.address === address;
    const validators = {
      etag: isKnown ? known.etag : null,
      last_modified: isKnown ? known.last_modified : null,
    };
    const path = join(folder, "scheduled", kind.name);
    const answer = await download({ address, ...validators, path, user_agent, signal });
    switch (answer.kind) {
      case "unchanged":
        await remember(file, { address, ...validators }, false);
        return null;
      case "failed":
        if (signal.aborted) return null; // The actor moves: its next owner asks.
        log.warn("Cannot download a file of companies", { kind: kind.name, problem: answer.problem });
        await remember(file, { address, ...validators }, true);
        return null;
      case "downloaded": {
        const { etag, last_modified } = answer;
        const modified_ms = Date.parse(last_modified ?? "");
        const publish_ms =
          publishedInName(new URL(answer.address).pathname) ??
          (Number.isNaN(modified_ms) ? clock.now() : modified_ms);
        return {
          order: { kind: kind.name, path, origin: withoutSecrets(answer.address), publish_ms, is_full },
          onBegun: () => remember(file, { address, etag, last_modified }, false),
        };
      }
    }
  }

  return async (source, signal) => {
    for (const file of schedule.filter(({ kind }) => kind.source === source)) {
      const known = await IMPORT_SCHEDULES.get(documents, file.kind.name);
      if (!isDue(known, clock.now())) continue;
      const next = await ask(file, known, signal);
      if (next !== null) return next;
    }
    return null;
  };
}

/** Claims name the address: without credentials, and without the query, which may have a signature. */
function withoutSecrets(address: string): string {
  const url = new URL(address);
  [url.username, url.password, url.search, url.hash] = ["", "", "", ""];
  return url.href;
}
