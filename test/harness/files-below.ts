/** Looks for secrets in the bytes of files, as a store or a backup has them. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The names in a folder; none when the engine that owns it has removed it meanwhile. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (problem) {
    if ((problem as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw problem;
  }
}

/** The files below a folder, by their names from there. */
const filesBelow = (folder: string, above = ""): readonly string[] =>
  namesIn(folder).flatMap((entry) => {
    const [path, name] = [join(folder, entry), join(above, entry)];
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return filesBelow(path, name);
    return stat?.isFile() ? [name] : [];
  });

/** The secrets that stand in the files below a folder, with the file. */
export function foundIn(folder: string, secrets: Readonly<Record<string, string>>): readonly string[] {
  const found: string[] = [];
  for (const name of filesBelow(folder)) {
    const path = join(folder, name);
    if (!existsSync(path)) continue;
    const bytes = readFileSync(path);
    for (const [what, secret] of Object.entries(secrets))
      if (bytes.includes(secret)) found.push(`${what} in ${name}`);
  }
  return found;
}
