/** A bare Debian, made of its packages by mmdebstrap: what is essential, and certificates. Needs root, on Debian. */
import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const SIGNED_BY = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** Its root, as a tar. `debian`: bookworm or trixie, from the mirror of this machine. Throws with the output of mmdebstrap. */
export function packDebianRoot(debian: string, tar: string): void {
  const half_made = `${tar}.part.tar`;
  const sources = `${tar}.sources`;
  const here = readFileSync("/etc/apt/sources.list.d/debian.sources", "utf8");
  const [, mirror] = /^URIs: (\S+)/m.exec(here)!;
  writeFileSync(
    sources,
    `Types: deb\nURIs: ${mirror}\nSuites: ${debian}\nComponents: main\nSigned-By: ${SIGNED_BY}\n`,
  );
  const left_out = ["doc", "info", "locale", "man"].map(
    (name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`,
  );
  const emptied = ["var/lib/apt/lists", "var/cache", "var/log"].map(
    (path) => `--customize-hook=find "$1/${path}" -type f -delete`,
  );
  execFileSync(
    "mmdebstrap",
    [
      "--quiet",
      "--variant=minbase",
      "--include=ca-certificates",
      ...left_out,
      ...emptied,
      debian,
      half_made,
      sources,
    ],
    { stdio: "pipe" },
  );
  renameSync(half_made, tar);
}

/** The package of the npm of this machine. */
export function npmFolder(): string {
  const program = execFileSync("sh", ["-c", 'readlink -f "$(command -v npm)"'], { encoding: "utf8" }).trim();
  return dirname(createRequire(join(dirname(program), "x.js")).resolve("../package.json"));
}
