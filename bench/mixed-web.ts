/** Which of the mixed pages of `bench/web.ts` is what, by its number. */

/** How long a slow page waits before its first byte. */
export const SLOW_MS = 300;

/** Kind of a page; in a hundred there are five slow, four a wall (403 with a challenge), two large (1 MB), a fifth of them real, the others light. */
export function mixedKind(n: number): "slow" | "wall" | "large" | "real" | "light" {
  if (n % 20 === 7) return "slow";
  if (n % 25 === 3) return "wall";
  if (n % 50 === 11) return "large";
  return n % 5 === 0 ? "real" : "light";
}
