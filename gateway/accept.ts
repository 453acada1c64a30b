/**
 * Which of the media types that a route offers a client prefers: RFC 9110 section 12.5.1, without parameters other than q.
 * Pure.
 */

/** type/subtype in lower case; either may be "*". */
interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  /** 0 to 1; 0 means that the client refuses the type. */
  readonly quality: number;
}

const RANGE = /^([^\s/;]+)\/([^\s/;]+)$/;
const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

function rangesOf(accept: string): readonly MediaRange[] {
  const ranges: MediaRange[] = [];
  for (const part of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim());
    const match = RANGE.exec(range);
    if (!match) continue;
    const quality = parameters.map((parameter) => QUALITY.exec(parameter)?.[1]).find((q) => q !== undefined);
    ranges.push({ type: match[1]!, subtype: match[2]!, quality: Number(quality ?? 1) });
  }
  return ranges;
}

/** 2: the type itself, 1: all of its kind, 0: all types, -1: not this type. */
function precision({ type, subtype }: MediaRange, media_type: string): number {
  if (`${type}/${subtype}` === media_type) return 2;
  if (subtype !== "*") return -1;
  if (type === "*") return 0;
  return media_type.startsWith(`${type}/`) ? 1 : -1;
}

/**
 * The offered type with the highest quality; of equal ones the type that the client names more precisely, then the earlier
 * one. The first offered type when the client accepts none of them, as the RFC allows.
 */
export function preferredType<T extends string>(
  accept: string | undefined,
  offered: readonly [T, ...(readonly T[])],
): T {
  const ranges = rangesOf(accept ?? "*/*");
  let best: { readonly type: T; readonly quality: number; readonly precise: number } | null = null;
  for (const type of offered) {
    // The most precise range decides about a type.
    let quality = 0;
    let precise = -1;
    for (const range of ranges) {
      const found = precision(range, type);
      if (found > precise) [precise, quality] = [found, range.quality];
    }
    if (quality === 0) continue;
    if (!best || quality > best.quality || (quality === best.quality && precise > best.precise))
      best = { type, quality, precise };
  }
  return best?.type ?? offered[0];
}
