/** The guides in docs/ of the package, read when they are first asked for. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Guide } from "../gateway/routes/guides.ts";

const FOLDER = new URL("../docs/", import.meta.url);
const START = "api/README";

/** Every Markdown file, so that no path of a request reaches the file system. The start of the API's guides comes first, then the others of the API. */
export function guideFiles(): () => readonly Guide[] {
  let guides: readonly Guide[] | null = null;
  return () => (guides ??= read());
}

function read(): readonly Guide[] {
  const paths = readdirSync(fileURLToPath(FOLDER), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.replaceAll("\\", "/").slice(0, -".md".length));
  return paths
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1))
    .map((path) => ({ path, markdown: readFileSync(new URL(`${path}.md`, FOLDER), "utf8") }));
}

/** The pictures that the guides show. */
export function pictureFiles(): (name: string) => Buffer | null {
  const names = readdirSync(fileURLToPath(new URL("pictures/", FOLDER)));
  return (name) =>
    names.includes(`${name}.svg`) ? readFileSync(new URL(`pictures/${name}.svg`, FOLDER)) : null;
}

const rankOf = (path: string): number => (path === START ? 0 : path.startsWith("api/") ? 1 : 2);
