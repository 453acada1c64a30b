/** Compares what a document says that a command prints with what it printed. "…" stands for anything in a document. */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Values that differ between any two runs: ids, digests, keys, moments, ports. */
const VOLATILE: readonly RegExp[] = [
  /\breq_[0-9A-HJKMNP-TV-Z]{26}\b/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
  /\b[0-9a-f]{64}\b/g,
  /\b[so]k_\w+|\bak_\w+/g,
  /\b(?:cmp|clm|wch|evt|alr|inc|mnt)_[a-z0-9]+\b/g,
  /\bwhsec_[\w+/=]+/g,
  /\b20\d\d-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?/g,
  /(?<=127\.0\.0\.1:|\.test:)\d+/g,
];
/** Shortened values that differ: the first characters of a digest, the mark of a key. */
const SHORTENED = /\b(?:[0-9a-f]{8}|[so]k_|ak_|whsec_)…/g;
/** Figures that are measured anew in each run. */
const MEASURED = /(?:^|_)(?:ms|bytes|score|s)$|^free|^used/;

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
const plain = (text: string): string =>
  VOLATILE.reduce((rest, pattern) => rest.replaceAll(pattern, "~"), text);

/** Whether a text is the documented one, in which "…" stands for any characters. */
export function isText(documented: string, actual: string): boolean {
  const parts = documented
    .replaceAll(SHORTENED, "~")
    .split("…")
    .map((part) => escaped(plain(part)));
  return new RegExp(`^${parts.join("[^]*")}$`).test(plain(actual));
}

/** Where an actual value is not the documented one; `onText` hears of each pair of texts that fit. */
export function differences(
  documented: Json,
  actual: Json | undefined,
  onText: (documented: string, actual: string) => void = () => {},
  path = "$",
): string[] {
  const wrong = (): string[] => [
    `${path}: documented ${JSON.stringify(documented)}, was ${JSON.stringify(actual)?.slice(0, 300)}`,
  ];
  if (documented === "…") return [];
  if (typeof documented === "string") {
    if (typeof actual !== "string" || !isText(documented, actual)) return wrong();
    onText(documented, actual);
    return [];
  }
  if (typeof documented === "number" && MEASURED.test(path.replace(/^.*[.\]]/, "")))
    return typeof actual === "number" ? [] : wrong();
  if (documented === null || typeof documented !== "object") return documented === actual ? [] : wrong();
  if (Array.isArray(documented)) {
    if (!Array.isArray(actual)) return wrong();
    const goesOn = documented.at(-1) === "…";
    const items = goesOn ? documented.slice(0, -1) : documented;
    if (goesOn ? actual.length < items.length : actual.length !== items.length) return wrong();
    return items.flatMap((item, at) => differences(item, actual[at] as Json, onText, `${path}[${at}]`));
  }
  if (actual === null || typeof actual !== "object" || Array.isArray(actual)) return wrong();
  const entries = Object.entries(documented).filter(([key]) => key !== "…");
  const more =
    "…" in documented
      ? []
      : Object.keys(actual)
          .filter((key) => !(key in documented))
          .map((key) => `${path}: "${key}" is not documented`);
  const values = actual as Readonly<Record<string, Json>>;
  return [
    ...more,
    ...entries.flatMap(([key, value]) => differences(value, values[key], onText, `${path}.${key}`)),
  ];
}

/** The last JSON value that a text holds: from a line that begins with { or [ to the end. */
export function lastJson(text: string): Json | undefined {
  const lines = text.trimEnd().split("\n");
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    const from = /[{[]/.exec(lines[at]!)?.index;
    if (from === undefined) continue;
    try {
      return JSON.parse([lines[at]!.slice(from), ...lines.slice(at + 1)].join("\n")) as Json;
    } catch {
      // It begins further up.
    }
  }
  return undefined;
}
