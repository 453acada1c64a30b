/** Which of the packages that `npm outdated --json` lists are a major behind; below 1.0.0 a minor counts as one. Pure: outdated.ts asks npm. */

interface Listed {
  readonly current?: string;
  readonly latest: string;
}

/** Packages that stay behind on purpose, and why. */
const KEPT: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /^node-(?:bin-)?(?:linux|darwin|win)-/,
    "the packaged Node stays at 22, with which uWebSockets.js runs (decision 0196)",
  ],
  [/^@types\/node$/, "follows the packaged Node"],
];

/** `listed`: the object that npm prints. A registry may name an older release as the latest: nothing is behind it. */
export function majorsBehind(
  listed: Readonly<Record<string, Listed>>,
): readonly { readonly name: string; readonly current: string; readonly latest: string }[] {
  return Object.entries(listed).flatMap(([name, { current, latest }]) =>
    current === undefined || KEPT.some(([pattern]) => pattern.test(name)) || !isBehind(current, latest)
      ? []
      : [{ name, current, latest }],
  );
}

function isBehind(current: string, latest: string): boolean {
  const [ours, theirs] = [partsOf(current), partsOf(latest)];
  if (ours[0] !== theirs[0]) return theirs[0] > ours[0];
  return ours[0] === 0 && theirs[1] > ours[1];
}

function partsOf(version: string): readonly [major: number, minor: number] {
  const [major, minor] = version.split(/[.+-]/).map(Number);
  return [major!, minor ?? 0];
}
