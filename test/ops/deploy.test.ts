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
import { natsNodeDirectory } from "../../cluster/adapters/nodes/node-directory.nats.ts";
import { engineProgram } from "../harness/engines.ts";
import { freePort } from "../harness/free-port.ts";
import { findProgram, type Program, program as startProgram } from "../harness/programs.ts";

const DEPLOY = "ops/deploy";
const WORKFLOWS = ".github/workflows";
const CHART = `${DEPLOY}/chart`;
const CHART_FILES = ["values.yaml", "templates/roles.yaml", "templates/settings.yaml"].map(
  (name) => `${CHART}/${name}`,
);
const UNITS = readdirSync(`${DEPLOY}/systemd`).map((name) => `${DEPLOY}/systemd/${name}`);
const FILES = [`${DEPLOY}/Containerfile`, `${DEPLOY}/compose.yaml`, ...CHART_FILES, ...UNITS];
const textOf = (file: string): string => readFileSync(file, "utf8");

const tool = (name: string): string | null => findProgram(`/opt/deploy-tools/bin/${name}`, name);
const [hadolint, jsonschema, kubernetes] = [
  tool("hadolint"),
  tool("check-jsonschema"),
  tool("kubernetes-validate"),
];
const helm = tool("helm");
const [systemd, haproxy, promtool] = [
  findProgram("systemd-analyze"),
  findProgram("haproxy"),
  findProgram("promtool"),
];

/** Output of a program that ran, with its exit code. */
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
        // In a sentence of the chart: what the cluster would set by itself.
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
      /terminationGracePeriodSeconds: (\d+)/.exec(textOf(`${CHART}/templates/roles.yaml`)),
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

  test.skipIf(jsonschema === null)("workflows: accepted by their schema (needs check-jsonschema)", () => {
    const files = readdirSync(WORKFLOWS).map((name) => `${WORKFLOWS}/${name}`);
    const words = ["--builtin-schema", "vendor.github-workflows", ...files];
    expect(run(jsonschema!, ...words)).toMatchObject(ACCEPTED);
  });

  test("a release is published with provenance and without a token, and the wheel is built by the tools of CI", () => {
    const workflow = textOf(`${WORKFLOWS}/publish.yml`);
    expect(workflow).toContain("--provenance");
    expect(workflow).toContain("attestations: true");
    expect(workflow).not.toContain("secrets.");
    for (const [tool_version] of workflow.matchAll(/\b(?:build|hatchling)==[\d.]+/g))
      expect(textOf(".ci/run")).toContain(`'${tool_version}'`);
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

  test("NATS' file, with the certificates that the script makes: nobody comes in without TLS and the password", async ({
    skip,
  }) => {
    const server = await engineProgram("bus");
    if (server === null) skip("NATS is missing");
    const folder = mkdtempSync(join(tmpdir(), "trawl-nats-"));
    const port = await freePort();
    expect(run(`${DEPLOY}/certificates.sh`, folder)).toEqual({ status: 0, output: "" });
    let nats: Program | null = null;
    try {
      withConfig("nats", (path) => {
        const text = textOf(path)
          .replace("/run/secrets/nats_certificate", `${folder}/nats.pem`)
          .replace("/run/secrets/nats_key", `${folder}/nats-key.pem`)
          .replace('"/data"', `"${folder}/data"`)
          // Compose gives it by the environment.
          .replace("$$NATS_PASSWORD", "secret5");
        writeFileSync(join(folder, "nats.conf"), `listen: "127.0.0.1:${port}"\n${text}`);
      });
      const [binary] = server!.command(folder, port);
      nats = await startProgram(binary!, ["--config", join(folder, "nats.conf")], port);
      const address = (login: string) => `tls://${login}@127.0.0.1:${port}?tls_ca=${folder}/ca.pem`;
      const nodes = await natsNodeDirectory(address("trawl:secret5"));
      expect(await nodes.nodes(100)).toEqual([]);
      await nodes.close();
      await expect(natsNodeDirectory(address("trawl:wrong"))).rejects.toThrow(/NATS/);
      await expect(natsNodeDirectory(`nats://trawl:secret5@127.0.0.1:${port}`)).rejects.toThrow(/NATS/);
    } finally {
      await nats?.close();
      rmSync(folder, { recursive: true });
    }
  });

  test("of Compose publish the API and, where it is asked for, Grafana, on loopback", () => {
    const ports = [...textOf(`${DEPLOY}/compose.yaml`).matchAll(/^ +ports: (.+)$/gm)].map(([, list]) => list);
    expect(ports).toEqual(['["127.0.0.1:8080:8080"]', '["127.0.0.1:3000:3000"]']);
  });

  test.skipIf(promtool === null)("Prometheus' file: accepted by promtool (needs prometheus)", () => {
    withConfig("prometheus", (path, folder) => {
      cpSync("ops/monitoring/alerts.yml", join(folder, "alerts.yml"));
      expect(run(promtool!, "check", "config", path)).toMatchObject(ACCEPTED);
      rmSync(join(folder, "alerts.yml"));
      expect(run(promtool!, "check", "config", path).status).not.toBe(0);
    });
  });

  describe.skipIf(helm === null || kubernetes === null)(
    "the Helm chart (needs helm and kubernetes-validate)",
    () => {
      const engines = ["--set", "engines.existingSecret=trawl-engines"];
      /** Manifests that are installed with these values, as a text. */
      const rendered = (...words: readonly string[]): string => {
        const { status, stdout, stderr } = spawnSync(
          helm!,
          ["template", "mine", CHART, ...engines, ...words],
          {
            encoding: "utf8",
          },
        );
        if (status !== 0) throw new Error(stderr);
        return stdout;
      };
      const EVERYTHING = ["--set", "ingress.enabled=true,ingress.tlsSecret=cert,ingress.className=nginx"];
      EVERYTHING.push("--set", "monitoring.serviceMonitor=true,monitoring.prometheusRule=true");
      EVERYTHING.push("--set", "networkPolicy.callers.team=press,image.pullSecrets={registry}");
      const NOTHING = [
        "--set",
        "networkPolicy.enabled=false,keys.existingSecret=keys,roles.worker.autoscaling.enabled=false",
      ];

      test("is accepted by helm lint, and refused with values of other names and types", () => {
        expect(run(helm!, "lint", "--strict", CHART, ...engines)).toMatchObject(ACCEPTED);
        for (const [value, problem] of [
          ["service.port=eighty", "'/service/port': got string, want integer"],
          ["roles.worker.size=3", "additional properties 'size' not allowed"],
          ["engines.existingSecret=", "'/engines/existingSecret': minLength"],
        ] as const)
          expect(run(helm!, "lint", CHART, ...engines, "--set", value)).toEqual({
            status: 1,
            output: expect.stringContaining(problem),
          });
      });

      test.each([
        ["as it is", []],
        ["with everything", EVERYTHING],
        ["with as little as can be", NOTHING],
      ])("renders what Kubernetes' schemas accept, %s", (_, words) => {
        const folder = mkdtempSync(join(tmpdir(), "trawl-chart-"));
        try {
          const file = join(folder, "rendered.yaml");
          writeFileSync(file, rendered(...words));
          const { status, output } = run(kubernetes!, "--strict", file);
          expect([status, output]).toEqual([0, expect.stringContaining("deployment/mine-browser")]);
          writeFileSync(file, rendered(...words).replace("readOnlyRootFilesystem", "readOnlyRoot"));
          expect(run(kubernetes!, "--strict", file).status).not.toBe(0);
        } finally {
          rmSync(folder, { recursive: true });
        }
      });

      test("scales workers and browsers by what waits, gateways by CPU, and each role only once", () => {
        const scalers = rendered()
          .split("\n---\n")
          .filter((part) => part.includes("kind: HorizontalPodAutoscaler"));
        expect(scalers).toHaveLength(3);
        const [browser, gateway, worker] = ["browser", "gateway", "worker"].map((role) =>
          scalers.find((part) => part.includes(`name: mine-${role}\n`))!,
        );
        expect(worker).toContain("trawl_actor_mailbox_waiting");
        expect(browser).toContain("trawl_browser_calls");
        expect(gateway).toContain("averageUtilization: 70");
        // A deployment that is scaled says no number, which an upgrade would go back to.
        expect(rendered()).not.toContain("replicas:");
        expect(rendered(...NOTHING)).toContain("replicas: 3");
      });

      test("has no secret in it but keys that it draws, and those of others by reference", () => {
        expect(rendered()).toMatch(/TRAWL_ADMIN_KEY: \w{40,}/);
        expect(rendered(...NOTHING)).not.toContain("kind: Secret\n");
        expect(rendered(...NOTHING)).toContain("secretKeyRef: { name: keys, key: TRAWL_ADMIN_KEY }");
        expect(rendered()).toContain("secretRef: { name: trawl-engines }");
      });

      test("has the alerts of ops/monitoring as they are", () => {
        const indented = textOf("ops/monitoring/alerts.yml")
          .trim()
          .replaceAll(/^(?=.)/gm, "  ");
        expect(rendered(...EVERYTHING)).toContain(indented);
      });

      test("is of the version of the program", () => {
        const { version } = JSON.parse(textOf("package.json")) as { version: string };
        expect(textOf(`${CHART}/Chart.yaml`)).toContain(`version: ${version}\nappVersion: "${version}"`);
        expect(rendered()).toContain(`image: registry.example/trawl-worker:${version}`);
      });
    },
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
