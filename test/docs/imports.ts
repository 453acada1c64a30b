/** Which files of the program there are and what each imports of the others, as the pictures of the documents are drawn from them. */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

const TOPS = ["schemas", "cluster", "actors", "gateway", "node", "ops"];
const IMPORT =
  /^(?:import|export)\s[^;]*?\bfrom\s+"(\.[^"]+)"|^import\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Paths from the root of the repository. */
  readonly imports: readonly string[];
}

export async function sourceFiles(): Promise<readonly SourceFile[]> {
  const paths = await Array.fromAsync(glob(TOPS.map((top) => `${top}/**/*.ts`)));
  return paths.toSorted().map((path) => {
    const text = readFileSync(path, "utf8");
    const imports = [...text.matchAll(IMPORT)].map(([, a, b, c]) =>
      relative(".", join(dirname(path), (a ?? b ?? c)!)),
    );
    return { path, text, imports };
  });
}
