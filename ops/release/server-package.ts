/**
 * The folder of the package @trawl/server: what runs, TypeScript without its types (Node strips none below node_modules), with a
 * package.json of its own, and npm-shrinkwrap.json with the packages of package-lock.json that are not for development.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";

const CODE = ["records", "schemas", "cluster", "actors", "gateway", "node", "ops"];
const TEXTS = ["CHANGELOG.md", "LICENSE", "NOTICE", "SECURITY.md", "docs"];
/** Not of a running service: engines and decisions of developers, deployment files, releases, READMEs of folders. */
const LEFT_OUT =
  /^ops\/(?:engines|decisions|deploy|monitoring|release)\/|^ops\/check\.ts$|^cluster\/examples\/|(?:^|\/)README\.md$|^docs\/contributing\//;

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  /** Where the release is built, without which a registry takes no provenance: .github/workflows/publish.yml sets it. */
  readonly repository?: object;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly trawl: object;
}

export interface ServerPackage {
  /** The tarball. */
  readonly path: string;
  readonly files: number;
  /** Before compression. */
  readonly bytes: number;
}

/** Writes `dist/server`, which is emptied first, and packs it beside. `root`: a checkout. */
export function packServer(root: string, dist: string, commit: string): ServerPackage {
  const to = join(dist, "server");
  const written = writeServerPackage(root, to, commit);
  const words = ["pack", "--silent", "--pack-destination", dist];
  const name = execFileSync("npm", words, { cwd: to, encoding: "utf8" }).trim();
  return { path: join(dist, name), ...written };
}

function writeServerPackage(root: string, to: string, commit: string): Omit<ServerPackage, "path"> {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
  rmSync(to, { recursive: true, force: true });
  let files = 0;
  let bytes = 0;
  const write = (name: string, content: string | Buffer): void => {
    const path = join(to, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    files += 1;
    bytes += content.length;
  };
  for (const name of trackedFiles(root).filter((file) => !LEFT_OUT.test(file))) {
    const content = readFileSync(join(root, name));
    if (name.endsWith(".ts")) write(name.replace(/\.ts$/, ".js"), compiled(content.toString()));
    else write(name, name.endsWith(".mjs") ? withCompiledNames(content.toString()) : content);
  }
  write("README.md", readFileSync(new URL("server-readme.md", import.meta.url)));
  write("build-commit", `${commit}\n`);
  write("package.json", jsonOf(serverManifest(manifest)));
  write("npm-shrinkwrap.json", jsonOf(shrinkwrap(root, manifest)));
  return { files, bytes };
}

function trackedFiles(root: string): readonly string[] {
  const listed = execFileSync("git", ["ls-files", "-z", ...CODE, ...TEXTS], { cwd: root, encoding: "utf8" });
  return listed.split("\0").filter((name) => name !== "");
}

/** JavaScript with the lines of the TypeScript, so that a place in a stack trace is the one in the source. */
function compiled(source: string): string {
  return withCompiledNames(stripTypeScriptTypes(source, { mode: "strip" }));
}

/** Modules and the programs of workers, named by their place: by an import, or by `new URL(…, import.meta.url)`. */
function withCompiledNames(source: string): string {
  return source
    .replaceAll(/(["'])(\.{1,2}\/[^"'\n]+)\.ts\1/g, "$1$2.js$1")
    .replaceAll(/(new URL\(["'][^"'\n]+)\.ts(["'],)/g, "$1.js$2");
}

function serverManifest({ version, description, license, ...manifest }: Manifest): object {
  const { repository, dependencies, optionalDependencies, trawl } = manifest;
  return {
    name: "@trawl/server",
    version,
    description,
    license,
    repository,
    type: "module",
    bin: { trawl: "ops/trawl.mjs" },
    engines: { node: ">=20" },
    publishConfig: { access: "public", provenance: true },
    dependencies,
    optionalDependencies,
    trawl,
  };
}

/**
 * package-lock.json without what is for development only. npm obeys it where the registry says that the package has one, and not
 * in a tarball that it is given (ops/decisions/0196-packages.md).
 */
function shrinkwrap(root: string, { version, license, ...manifest }: Manifest): object {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  const { dependencies, optionalDependencies } = manifest;
  const own = { name: "@trawl/server", version, license, dependencies, optionalDependencies };
  const packages = Object.entries(lock.packages).filter(([path, { dev }]) => path !== "" && !dev);
  return { ...lock, name: "@trawl/server", version, packages: { "": own, ...Object.fromEntries(packages) } };
}

const jsonOf = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
