/**
 * Which pages of a crawl are one: those with the same bytes, those that name the same address as their own, and those with almost the
 * same text. The first of them is the original of the others.
 */
import type { DuplicateReason, SeenPage } from "../../../../schemas/crawl.ts";
import { readSketch, type TextSketch } from "../../../reading/content/text-sketch.ts";
import { keyOfText, type KeyOptions } from "../address/key.ts";
import { addresses } from "./addresses.ts";
import { nearTexts } from "./near-texts.ts";

export interface Original {
  readonly ordinal: number;
  readonly reason: DuplicateReason;
}

interface Names {
  readonly body: string;
  /** The address that names the page, in the form of a key. */
  readonly name: string;
  readonly isCanonical: boolean;
  readonly sketch: TextSketch | null;
}

export interface Originals {
  /** The original of the page with this ordinal; null: it is one itself as far as is known. */
  readonly find: (ordinal: number, names: Names) => Original | null;
  /** `original`: of the page with this ordinal, perhaps itself. */
  readonly add: (ordinal: number, names: Names, original: number) => void;
}

export function originals(salt: string): Originals {
  const names = addresses(`${salt} originals`);
  /** By the number of a name. */
  const original_of: number[] = [];
  const texts = nearTexts();
  const originalNamed = (name: string): number | null => {
    const at = names.find(name);
    return at < 0 ? null : original_of[at]!;
  };
  const put = (name: string, original: number): void => {
    if (names.find(name) < 0) original_of[names.add(name, 0)] = original;
  };
  return {
    find(ordinal, { body, name, isCanonical, sketch }) {
      const named = originalNamed(name);
      const reason = isCanonical ? "duplicate_of_canonical" : "duplicate_address";
      if (named !== null) return named === ordinal ? null : { ordinal: named, reason };
      const same = originalNamed(body);
      if (same !== null) return same === ordinal ? null : { ordinal: same, reason: "duplicate_address" };
      const near = sketch && texts.find(sketch, ordinal);
      return near === null ? null : { ordinal: near, reason: "near_duplicate" };
    },
    add(ordinal, { body, name, sketch }, original) {
      const isNew = names.find(name) < 0;
      put(name, original);
      put(body, original);
      // Texts of originals alone: else a page would be near one that is near another.
      if (isNew && ordinal === original && sketch) texts.add(ordinal, sketch);
    },
  };
}

/** The names of a page at this address, which is where redirects led. */
export const namesOf = ({ body, canonical, sketch }: SeenPage, url: string, rules: KeyOptions): Names => ({
  body,
  name: keyOfText(canonical ?? url, rules),
  isCanonical: canonical !== undefined,
  sketch: sketch === undefined ? null : readSketch(sketch),
});
