/**
 * Schema drift over time: the paths of a source's JSON documents, and which of them went away. A document's shape is the set of
 * its paths with the type of each; items of lists share a path, keys that are data are one `*`, and null is an absent
 * path. A path that almost all older documents have and many of the newest lack is drift; so is another type, which is another
 * path. New paths are not. Only names of fields are stored, no values. Pure.
 */

/** As stored, for one source and endpoint. */
export interface EndpointShapes {
  /** Every path seen, at most MAX_PATHS; the lists below count by position. */
  readonly paths: readonly string[];
  /** Older documents, at most MAX_BASELINE: beyond it all counts are halved. */
  readonly documents: number;
  /** How many of the older documents have each path. */
  readonly counts: readonly number[];
  /** The newest documents, oldest first: the positions of their paths. */
  readonly recent: readonly (readonly number[])[];
}

export const NO_SHAPES: EndpointShapes = { paths: [], documents: 0, counts: [], recent: [] };

const MAX_PATHS = 400;
const MAX_DEPTH = 8;
/** Items of a list that are looked at. */
const MAX_ITEMS = 20;
const MAX_BASELINE = 1_000;
const RECENT = 50;
/** A share of fewer older documents means nothing. */
const MIN_BASELINE = 50;
const STABLE_SHARE = 0.99;
const MIN_ABSENT = 20;
const FIELD_NAME = /^[A-Za-z_][A-Za-z_-]{0,59}$/;

/** The paths of a JSON value: `.entity.legalName.name string`. */
export function shapeOf(value: unknown): ReadonlySet<string> {
  const paths = new Set<string>();
  const walk = (each: unknown, path: string, depth: number): void => {
    if (each === null || each === undefined || paths.size >= MAX_PATHS) return;
    if (Array.isArray(each)) {
      paths.add(`${path} list`);
      if (depth < MAX_DEPTH) for (const item of each.slice(0, MAX_ITEMS)) walk(item, `${path}[]`, depth + 1);
    } else if (typeof each === "object") {
      if (depth >= MAX_DEPTH) return;
      for (const [name, field] of Object.entries(each))
        walk(field, `${path}.${FIELD_NAME.test(name) ? name : "*"}`, depth + 1);
    } else paths.add(`${path} ${typeof each}`);
  };
  walk(value, "", 0);
  return paths;
}

/** The address without what differs from company to company: `/lei-records/*`. */
export const endpointOf = (url: string): string =>
  new URL(url).pathname
    .split("/")
    .map((segment) => (/\d/.test(segment) && !/^v\d+$/.test(segment) ? "*" : segment))
    .join("/");

/** With one more document. */
export function observeShape(shapes: EndpointShapes, shape: ReadonlySet<string>): EndpointShapes {
  const paths = [...shapes.paths];
  const position = new Map(paths.map((path, at) => [path, at]));
  for (const path of shape)
    if (!position.has(path) && paths.length < MAX_PATHS) position.set(path, paths.push(path) - 1);
  const counts = paths.map((_, at) => shapes.counts[at] ?? 0);
  const recent = [...shapes.recent, [...shape].flatMap((path) => position.get(path) ?? [])];
  let { documents } = shapes;
  while (recent.length > RECENT) {
    for (const at of recent.shift()!) counts[at]!++;
    documents++;
  }
  return documents <= MAX_BASELINE
    ? { paths, documents, counts, recent }
    : { paths, documents: documents / 2, counts: counts.map((count) => count / 2), recent };
}

/** The paths that went away. */
export function driftedPaths({ paths, documents, counts, recent }: EndpointShapes): readonly string[] {
  if (documents < MIN_BASELINE) return [];
  return paths.filter(
    (_, at) =>
      counts[at]! / documents >= STABLE_SHARE &&
      recent.filter((document) => !document.includes(at)).length >= MIN_ABSENT,
  );
}
