/** The wheel of trawl-client: the version is that of the program. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Copies clients/python to `dist/python`, which is emptied first, and builds the source distribution beside and of it the wheel. Returns the wheel. `python`: one that has `build` and `hatchling`. */
export function packPythonClient(root: string, dist: string, python: string): string {
  const to = join(dist, "python");
  rmSync(to, { recursive: true, force: true });
  cpSync(join(root, "clients/python"), to, { recursive: true });
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"));
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const project = join(to, "pyproject.toml");
  const named = readFileSync(project, "utf8").replace(/^version = .*$/m, `version = "${version}"`);
  writeFileSync(project, named);
  const words = ["-m", "build", "--no-isolation", "--outdir", dist, to];
  execFileSync(python, words, { encoding: "utf8" });
  return join(dist, `trawl_client-${version}-py3-none-any.whl`);
}
