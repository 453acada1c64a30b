/**
 * A release: `npm run release -- --dry-run` builds in dist/ everything that would be published, checks it, installs it in an empty folder and
 * starts it; `-- chroots` installs it in bare chroots of Debian (chroots.ts), `-- chroots 22.23.3` only in those with that Node; `-- licences` prints each package
 * that the program depends on, with its licence. Publishing is left to .github/workflows/publish.yml.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readBuildInfo } from "../build-info.ts";
import { billOfMaterials, licencesOf } from "./bill-of-materials.ts";
import { chrootTable, NODES, tryChroots } from "./chroots.ts";
import { packPythonClient } from "./python-package.ts";
import { packClient } from "./client-package.ts";
import { packServer } from "./server-package.ts";
import { startInstalled } from "./start-installed.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DIST = join(ROOT, "dist");
const PYTHON = process.env["PYTHON"] ?? "/opt/python-client/bin/python";
const PACKED_MAX_BYTES = 5_000_000;

const [word, ...rest] = process.argv.slice(2);
if (word === "licences") console.log(licencesOf(billOfMaterials(ROOT)).join("\n"));
else if (word === "--dry-run") await dryRun();
else if (word === "chroots" && rest.every((node) => NODES.includes(node)))
  await chroots(rest.length > 0 ? rest : NODES);
else {
  console.error(
    `Say --dry-run, licences, or chroots with any of ${NODES.join(", ")}. Nothing is published from here: npm publish dist/FILE.tgz --provenance`,
  );
  process.exitCode = 2;
}

async function dryRun(): Promise<void> {
  const { version, commit } = readBuildInfo(ROOT);
  const changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
  const hasSection = changelog.includes(`## ${version}`) || changelog.includes("## Unreleased");
  if (!hasSection) throw new Error(`CHANGELOG.md has no section for ${version}`);
  mkdirSync(DIST, { recursive: true });

  const { path: packed, files, bytes } = packServer(ROOT, DIST, commit ?? "unknown");
  const { size } = statSync(packed);
  console.log(`${packed}: ${files} files, ${bytes} bytes, ${size} packed`);
  if (size > PACKED_MAX_BYTES) throw new Error(`${packed} has ${size} bytes, more than ${PACKED_MAX_BYTES}`);

  const client = packClient(ROOT, DIST);
  console.log(`${client}: ${statSync(client).size} packed`);
  if (existsSync(PYTHON)) console.log(packPythonClient(ROOT, DIST, PYTHON));
  else
    console.log(`No wheel: ${PYTHON} with the packages build and hatchling makes it (.ci/run installs it)`);

  const bill = billOfMaterials(ROOT);
  writeFileSync(join(DIST, "sbom.cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
  const licences = licencesOf(bill);
  writeFileSync(join(DIST, "licences.txt"), `${licences.join("\n")}\n`);
  console.log(
    `${join(DIST, "sbom.cdx.json")}: ${licences.length} packages, each with a licence (licences.txt)`,
  );

  const started = await startInstalled(packed, process.env);
  console.log(`Installed in an empty folder, started: ${started.http_server}, version ${started.version}`);
}

/** CHROOTS_DIR: where roots and Nodes stay between runs. */
async function chroots(nodes: readonly string[]): Promise<void> {
  const { commit } = readBuildInfo(ROOT);
  mkdirSync(DIST, { recursive: true });
  const packages = {
    server: packServer(ROOT, DIST, commit ?? "unknown").path,
    client: packClient(ROOT, DIST),
    wheel: packPythonClient(ROOT, DIST, PYTHON),
  };
  const folder = process.env["CHROOTS_DIR"] ?? join(tmpdir(), "trawl-chroots");
  const results = await tryChroots(packages, folder, nodes, ({ debian, node, problem }) =>
    console.error(`${debian}, Node ${node}: ${problem ?? "all worked"}`),
  );
  console.log(chrootTable(results));
  if (results.some(({ problem }) => problem !== null)) process.exitCode = 1;
}
