/** A unified diff with limits: of the lines that differ, of the characters compared and of its own length. Pure. */
import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";

export interface UnifiedDiff {
  /** Null: the texts are too long or too different. */
  readonly diff: string | null;
  /** Not everything that differs is in it. */
  readonly diff_truncated: boolean;
}

export const MAX_DIFF_CHARS = 64 * 1024;
/** The limit of each text. */
export const MAX_COMPARED_CHARS = 2 ** 20;
/** Lines removed and added. The time grows with its square: 1,000 take 0.1 s in texts of 50,000 lines that share none. */
const MAX_EDITS = 1_000;
const CONTEXT_LINES = 3;

/** The diff ends behind a whole hunk. */
export function unifiedDiff(name: string, before: string, after: string): UnifiedDiff {
  const none = { diff: null, diff_truncated: true };
  if (Math.max(before.length, after.length) > MAX_COMPARED_CHARS) return none;
  const patch = structuredPatch(name, name, before, after, undefined, undefined, {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDITS,
  });
  if (!patch) return none;
  let chars = 0;
  const hunks = patch.hunks.filter((hunk) => {
    chars += hunk.lines.reduce((sum, line) => sum + line.length + 1, 0);
    return chars <= MAX_DIFF_CHARS;
  });
  if (hunks.length === 0 && patch.hunks.length > 0) return none;
  return {
    diff: formatPatch({ ...patch, hunks }, FILE_HEADERS_ONLY),
    diff_truncated: hunks.length < patch.hunks.length,
  };
}
