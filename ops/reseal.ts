/**
 * Seals all stored secrets with the current key, those in clear too: after an upgrade and after a change of the key, beside a
 * running service. What has the current key already stays as it is, so a run that was interrupted is simply begun again.
 */
import type { Documents } from "../cluster/ports/documents.ts";
import { Fault } from "../cluster/ports/fault.ts";
import type { SealedCollection, SecretPlace, Secrets } from "../cluster/ports/secrets.ts";
import type { AnyFeature } from "../node/feature.ts";
import { FEATURES } from "./features.ts";
import { updateDocument } from "../cluster/collection.ts";

const PAGE = 100;

export interface Resealed {
  /** Documents that were written. */
  readonly changed: number;
  /** Texts that no key of this node opens. */
  readonly unreadable: number;
}

export interface ResealOptions {
  /** Gives up what no key opens: a webhook is removed, a job has no callback any more. Default: it stays as it is. */
  readonly gives_up?: boolean;
  /** Default: it goes through to the end. */
  readonly isStopped?: () => boolean;
}

/** Sealed collections of all features. */
export async function sealedCollections(): Promise<Readonly<Record<string, SealedCollection>>> {
  const all: Record<string, SealedCollection> = {};
  for (const { sealed } of FEATURES as readonly AnyFeature[]) Object.assign(all, await sealed?.());
  return all;
}

/** Throws Fault. */
export async function resealAll(
  documents: Documents,
  secrets: Secrets,
  { gives_up = false, isStopped = () => false }: ResealOptions = {},
): Promise<Resealed> {
  let [changed, unreadable] = [0, 0];
  for (const [collection, { rewrite }] of Object.entries(await sealedCollections())) {
    async function resealOne(key: string): Promise<void> {
      let isChanged = false;
      let failed = 0;
      await updateDocument(documents, { collection, key }, (value) => {
        [isChanged, failed] = [false, 0];
        if (value === null) return null;
        const next = rewrite({ key, value }, (text, place) => {
          const sealed = resealed(secrets, text, place);
          if (sealed === null) failed++;
          const wanted = sealed ?? (gives_up ? null : text);
          isChanged ||= wanted !== text;
          return wanted;
        });
        return isChanged ? (next ?? "remove") : null;
      });
      if (isChanged) changed++;
      unreadable += failed;
    }
    for (let from = ""; !isStopped();) {
      const page = await documents.list(collection, { ...(from !== "" && { from }), limit: PAGE });
      for (const { key } of page) if (!isStopped()) await resealOne(key);
      if (page.length === 0) break;
      from = `${page.at(-1)!.key}\0`;
    }
  }
  return { changed, unreadable };
}

/** Null: no key opens it. */
function resealed(secrets: Secrets, text: string, place: SecretPlace): string | null {
  try {
    return secrets.reseal(text, place);
  } catch (problem) {
    if (problem instanceof Fault && problem.code === "secret_unreadable") return null;
    throw problem;
  }
}
