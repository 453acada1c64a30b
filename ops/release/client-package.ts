/** The folder of the package @trawl/client: JavaScript and declarations of clients/typescript, which depend on nothing. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The fields of package.json that both packages have in common. */
interface Manifest {
  readonly version: string;
  readonly repository?: object;
}

/** Writes `dist/client`, which is emptied first, and packs it beside. Returns the tarball. `root`: a checkout. */
export function packClient(root: string, dist: string): string {
  const from = join(root, "clients/typescript");
  const to = join(dist, "client");
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [compiler, "-p", from, "--outDir", join(to, "dist")], { stdio: "inherit" });
  const { version, repository } = jsonIn(join(root, "package.json")) as Manifest;
  const manifest = { ...jsonIn(join(from, "package.json")), version, repository };
  writeFileSync(join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join(from, "README.md"), join(to, "README.md"));
  cpSync(join(root, "LICENSE"), join(to, "LICENSE"));
  const words = ["pack", "--silent", "--pack-destination", dist];
  return join(dist, execFileSync("npm", words, { cwd: to, encoding: "utf8" }).trim());
}

const jsonIn = (path: string): object => JSON.parse(readFileSync(path, "utf8")) as object;
