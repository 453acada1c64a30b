/**
 * The files of ops/deploy: what they name exists, and the tools of their formats accept them. CI installs the tools (`.ci/run`). Nothing here
 * runs a container.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SETTINGS } from "../../ops/config.ts";
import { findProgram } from "../harness/programs.ts";

const DEPLOY = "ops/deploy";
const KUBERNETES = readdirSync(`${DEPLOY}/kubernetes`).map((name) => `${DEPLOY}/kubernetes/${name}`);
const UNITS = readdirSync(`${DEPLOY}/systemd`).map((name) => `${DEPLOY}/systemd/${name}`);
const FILES = [`${DEPLOY}/Containerfile`, `${DEPLOY}/compose.yaml`, ...KUBERNETES, ...UNITS];
const textOf = (file: string): string => readFileSync(file, "utf8");

const tool = (name: string): string | null => findProgram(`/opt/deploy-tools/bin/${name}`, name);
const [hadolint, jsonschema, kubernetes] = [
  tool("hadolint"),
  tool("check-jsonschema"),
  tool("kubernetes-validate"),
];
const [systemd, haproxy, promtool, kubectl] = [
  findProgram("systemd-analyze"),
  findProgram("haproxy"),
  findProgram("promtool"),
  findProgram("kubectl"),
];

/** What a program that ran wrote, with its exit code. */
function run(program: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, { encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}
const ACCEPTED = { status: 0 };

describe("deployment files", () => {
  test("set only variables that are settings", () => {
    const known = new Set(SETTINGS.map(({ env }) => env));
    const strays = FILES.flatMap((file) =>
      [...textOf(file).matchAll(/\b(?:TRAWL|S3|AWS)_[A-Z_]+\b(?!=)/g)]
        .map(([name]) => name)
        // In a sentence of kubernetes/: what the cluster would set by itself.
        .filter((name) => !known.has(name) && name !== "TRAWL_PORT")
        .map((name) => `${file}: ${name}`),
    );
    expect(strays).toEqual([]);
  });

  test("copy what exists, and all that the program imports", () => {
    const copied = [...textOf(`${DEPLOY}/Containerfile`).matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(
      ([, names]) => names!.split(" "),
    );
    expect(copied.filter((name) => !existsSync(name))).toEqual([]);
    expect(copied).toEqual(
      expect.arrayContaining([
        "package.json",
        "package-lock.json",
        "schemas",
        "cluster",
        "actors",
        "gateway",
        "ops",
      ]),
    );
  });

  test("give a node longer than its own limit to drain", () => {
    const [, limit_ms] = /^const STOP_MS = ([\d_]+);/m.exec(textOf("ops/stopping.ts"))!;
    const limit_s = Number(limit_ms!.replaceAll("_", "")) / 1_000;
    const given = [
      /stop_grace_period: (\d+)s/.exec(textOf(`${DEPLOY}/compose.yaml`)),
      ...["gateway", "worker", "browser"].map((name) =>
        /terminationGracePeriodSeconds: (\d+)/.exec(textOf(`${DEPLOY}/kubernetes/${name}.yaml`)),
      ),
      ...UNITS.map((unit) => /TimeoutStopSec=(\d+)/.exec(textOf(unit))),
    ];
    for (const found of given) expect(Number(found![1])).toBeGreaterThan(limit_s);
  });

  test.skipIf(hadolint === null)("Containerfile: accepted by hadolint (needs hadolint)", () => {
    expect(run(hadolint!, `${DEPLOY}/Containerfile`)).toMatchObject(ACCEPTED);
    const folder = mkdtempSync(join(tmpdir(), "trawl-hadolint-"));
    writeFileSync(join(folder, "Containerfile"), "FROM debian\nRUN cd /tmp && sudo true\n");
    expect(run(hadolint!, join(folder, "Containerfile")).status).not.toBe(0);
    rmSync(folder, { recursive: true });
  });

  test.skipIf(jsonschema === null)("Compose files: accepted by their schema (needs check-jsonschema)", () => {
    const words = ["--builtin-schema", "vendor.compose-spec", `${DEPLOY}/compose.yaml`, "ops/compose.yaml"];
    expect(run(jsonschema!, ...words)).toMatchObject(ACCEPTED);
  });

  /** A file that the Compose file holds itself, in a folder of its own. */
  function withConfig(name: string, use: (path: string, folder: string) => void): void {
    const [, indented] = new RegExp(`^  ${name}:\\n    content: \\|\\n((?: {6}.*\\n)+)`, "m").exec(
      textOf(`${DEPLOY}/compose.yaml`),
    )!;
    const folder = mkdtempSync(join(tmpdir(), "trawl-config-"));
    try {
      const path = join(folder, name);
      writeFileSync(path, indented!.replaceAll(/^ {6}/gm, ""));
      use(path, folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  test.skipIf(haproxy === null)("the balancer's file: accepted by HAProxy (needs haproxy)", () => {
    withConfig("haproxy", (path) => {
      // The names of the containers are known in their network only.
      writeFileSync(path, textOf(path).replaceAll(/ gateway-\d:/g, " 127.0.0.1:"));
      expect(run(haproxy!, "-c", "-f", path)).toMatchObject(ACCEPTED);
      writeFileSync(path, `${textOf(path)}  server gateway-3\n`);
      expect(run(haproxy!, "-c", "-f", path).status).not.toBe(0);
    });
  });

  test.skipIf(promtool === null)("Prometheus' file: accepted by promtool (needs prometheus)", () => {
    withConfig("prometheus", (path, folder) => {
      cpSync("ops/monitoring/alerts.yml", join(folder, "alerts.yml"));
      expect(run(promtool!, "check", "config", path)).toMatchObject(ACCEPTED);
      rmSync(join(folder, "alerts.yml"));
      expect(run(promtool!, "check", "config", path).status).not.toBe(0);
    });
  });

  /** What kubectl apply -k sends, where there is a kubectl. */
  function sentTo(folder: string, manifests: readonly string[]): readonly string[] {
    if (kubectl === null) return manifests;
    const { status, output } = run(kubectl, "kustomize", `${DEPLOY}/kubernetes`);
    if (status !== 0) throw new Error(output);
    const built = join(folder, "built.yaml");
    writeFileSync(built, output);
    return [built];
  }

  test.skipIf(kubernetes === null)(
    "Kubernetes manifests: accepted by its schemas (needs kubernetes-validate)",
    () => {
      const manifests = KUBERNETES.filter((file) => !file.endsWith("kustomization.yaml"));
      const resources = /resources: \[(.+)\]/
        .exec(textOf(`${DEPLOY}/kubernetes/kustomization.yaml`))![1]!
        .split(", ");
      expect(resources.map((name) => `${DEPLOY}/kubernetes/${name}`).toSorted()).toEqual(
        manifests.toSorted(),
      );
      const folder = mkdtempSync(join(tmpdir(), "trawl-kubernetes-"));
      try {
        const { status, output } = run(kubernetes!, "--strict", ...sentTo(folder, manifests));
        expect([status, output]).toEqual([0, expect.stringContaining("deployment/trawl-browser")]);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    60_000,
  );

  test.skipIf(systemd === null)("units: accepted by systemd-analyze verify (needs systemd)", () => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-units-"));
    try {
      for (const unit of UNITS) {
        // The program is where the unit says on the machine it is for.
        const text = textOf(unit)
          .replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`)
          .replace(/^WorkingDirectory=.*/m, "WorkingDirectory=/");
        const place = join(folder, unit.split("/").at(-1)!.replace("@.", "@worker."));
        writeFileSync(place, text);
        expect(run(systemd!, "verify", place)).toEqual({ status: 0, output: "" });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
