/** trawl doctor: whether this machine has what the service needs, and what an operator should change. */
import { Command } from "commander";
import { dataPath } from "../stores.ts";
import { type Context, EXIT, type Json, table, withJson } from "./context.ts";

interface Finding {
  readonly check: string;
  readonly state: "ok" | "warning" | "off";
  readonly detail: string;
}

export const doctorCommand = (context: Context): Command =>
  withJson(new Command("doctor").description("check this machine for what the service needs")).action(
    async ({ json }: Json) => {
      const findings = [...(await browserFindings(context))];
      if (findings.some(({ state }) => state === "warning")) context.exit(EXIT.error);
      if (json) return context.out(JSON.stringify(findings, null, 2));
      const rows = findings.map(({ check, state, detail }) => [check, state, detail]);
      return context.out(table(["CHECK", "STATE", "DETAIL"], rows));
    },
  );

async function browserFindings({ config }: Context): Promise<readonly Finding[]> {
  // With them comes Playwright, which the other commands need not load.
  const { configuredChromium } = await import("../../actors/fetch/feature/browser.ts");
  const { sandboxed } = await import("../../actors/tiers/adapters/sandbox.ts");
  const { tiers, storage } = config();
  const inData = (name: string): string => dataPath(storage.data_dir, name);
  const found = configuredChromium(tiers, inData);
  if (found === null)
    return [
      { check: "browser", state: "off", detail: "There is no Chromium: the route browser is not configured" },
    ];
  const chromium = sandboxed(found, { setting: tiers.chromium_sandbox, folder: inData("chromium") });
  try {
    const state = await chromium.sandbox();
    const detail = state.is_on
      ? "The browser runs in its sandbox"
      : `The browser runs without it: ${state.why}`;
    return [
      { check: "browser", state: "ok", detail: found.sentence },
      { check: "sandbox", state: state.is_on ? "ok" : "warning", detail },
    ];
  } catch (problem) {
    return [
      {
        check: "browser",
        state: "warning",
        detail: problem instanceof Error ? problem.message : String(problem),
      },
    ];
  } finally {
    await chromium.close();
  }
}
