/** Names jobs: UUIDv7, so that their order is that of their beginnings (RFC 9562, section 5.7). */
import type { Random } from "../cluster/ports/random.ts";

export function jobId(now_ms: number, random: Random): string {
  // Random promises 32 good bits at most.
  const draw = (bits: number): number => Math.floor(random.next() * 2 ** bits);
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
  const time = hex(now_ms, 12);
  const variant = hex(0x8000 + draw(14), 4);
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${hex(draw(12), 3)}`,
    variant,
    hex(draw(24), 6) + hex(draw(24), 6),
  ].join("-");
}
