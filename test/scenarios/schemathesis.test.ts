/**
 * schemathesis against a running service: it makes requests from the OpenAPI document, valid and broken ones, and holds the answers to
 * it. CI installs it from PyPI (`.ci/run`); by hand `SCHEMATHESIS=<program>` names it. `PHASES=coverage,fuzzing EXAMPLES=100` is a longer run,
 * with the boundary of every parameter.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findProgram } from "../harness/programs.ts";
import { ADMIN_KEY, SETUPS } from "../harness/service.ts";

const program = findProgram(
  process.env["SCHEMATHESIS"] ?? "/opt/schemathesis/bin/schemathesis",
  "schemathesis",
);
const { start } = SETUPS.find(({ setup }) => setup === "embedded")!;
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
];
const HOOKS = fileURLToPath(new URL("../harness/schemathesis_hooks.py", import.meta.url));
const LIMIT_MS = 300_000;

test.skipIf(program === null)(
  "no 5xx, no status and no shape that the document does not have (needs schemathesis)",
  { timeout: LIMIT_MS + 30_000 },
  async () => {
    // No name server answers, so no request leaves this machine.
    const service = await start({ TRAWL_DEMO: "on", TRAWL_DNS_SERVERS: "127.0.0.1:9" });
    try {
      const words = [
        "run",
        `${service.url}/openapi.json`,
        `--header=Authorization: Bearer ${ADMIN_KEY}`,
        `--checks=${CHECKS.join(",")}`,
        `--phases=${process.env["PHASES"] ?? "fuzzing"}`,
        `--max-examples=${process.env["EXAMPLES"] ?? "4"}`,
        // With several threads its generator fails by itself now and then.
        "--workers=1",
        "--request-timeout=30",
        // The service's own counters change while they are read; its text has no schema.
        "--exclude-operation-id=metrics",
        "--no-color",
      ];
      // It keeps a cache where it is started.
      const child = spawn(program!, words, {
        cwd: tmpdir(),
        env: { ...process.env, SCHEMATHESIS_HOOKS: HOOKS, PYTHONDONTWRITEBYTECODE: "1" },
        stdio: ["ignore", "pipe", "pipe"],
        timeout: LIMIT_MS,
      });
      const [out, err] = [child.stdout.toArray(), child.stderr.toArray()];
      const [code] = (await once(child, "exit")) as [number | null];
      const said = [await out, await err].flat().join("");
      const from = Math.max(0, said.search(/=+ (FAILURES|ERRORS) =+/));
      expect({ code, failures: code === 0 ? "" : said.slice(from, from + 4_000) }).toEqual({
        code: 0,
        failures: "",
      });
    } finally {
      await service.close();
    }
  },
);
