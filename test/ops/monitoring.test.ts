/** Metrics, alerts and dashboards: names by Prometheus' conventions, queries over metrics that exist, an entry for each alert. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { prometheusMetrics } from "../../cluster/adapters/telemetry/metrics.prometheus.ts";
import type { MetricName, MetricSpec } from "../../cluster/ports/metrics.ts";
import { METRICS } from "../../ops/metrics.ts";

const FOLDER = "ops/monitoring";
const folder = mkdtempSync(join(tmpdir(), "trawl-monitoring-"));
afterAll(() => rmSync(folder, { recursive: true }));

const promtool = (args: readonly string[], input = "", cwd = ".") => {
  const { status, stdout, stderr } = spawnSync("promtool", args, { input, cwd, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
};
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool)
  console.warn("promtool is not installed (Debian package prometheus): its checks are skipped");

/** Every metric, with a series each. */
async function everything(): Promise<string> {
  const metrics = prometheusMetrics(METRICS);
  for (const [key, spec] of Object.entries<MetricSpec>(METRICS)) {
    const name = key as MetricName;
    const labels: any = Object.fromEntries(spec.labels.map((label) => [label, "x"]));
    if (spec.kind === "counter") metrics.count(name, labels);
    else if (spec.kind === "gauge") metrics.gauge(name, labels, 1);
    else metrics.observe(name, labels, 1);
  }
  return metrics.render();
}

/** The rules as they are written: a name, an expression of one line or several, and where its entry is. */
const rules = readFileSync(`${FOLDER}/alerts.yml`, "utf8")
  .split(/^ +- (?=alert:|record:)/m)
  .slice(1)
  .map((text) => {
    const [, kind, name] = /^(alert|record): (\S+)/.exec(text)!;
    const [, line, lines] = /^ +expr: (?:(?!>-)(.+)|>-\n((?: {10,}.+\n)+))/m.exec(text)!;
    return {
      name: name!,
      isAlert: kind === "alert",
      expr: (line ?? lines!).replaceAll(/\s+/g, " ").trim(),
      runbook_url: /runbook_url: (\S+)/.exec(text)?.[1],
    };
  });

const dashboards = readdirSync(`${FOLDER}/dashboards`).map((name) => ({
  name,
  panels: JSON.parse(readFileSync(`${FOLDER}/dashboards/${name}`, "utf8")).panels as {
    title: string;
    targets: { expr: string; legendFormat: string }[];
  }[],
}));
const queries = [
  ...rules.map(({ name, expr }) => ({ of: name, expr, legend: "" })),
  ...dashboards.flatMap(({ name, panels }) =>
    panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat }) => ({ of: `${name}: ${title}`, expr, legend: legendFormat })),
    ),
  ),
];

describe("metrics", () => {
  test.skipIf(!hasPromtool)("are named and described as promtool wants them", async () => {
    expect(promtool(["check", "metrics"], await everything())).toEqual({ status: 0, output: "" });
  });

  test("have a unit or a suffix that says what they count", () => {
    const names = Object.entries<MetricSpec>(METRICS).map(([name, { kind }]) => [name, kind] as const);
    for (const [name, kind] of names) {
      expect(name).toMatch(/^trawl_[a-z_]+$/);
      expect([name, name.endsWith("_total")]).toEqual([name, kind === "counter"]);
    }
  });

  test("of labels with known values are there from the start", async () => {
    const text = await prometheusMetrics(METRICS).render();
    expect(text).toContain('trawl_tier_calls_total{tier="proxy_render",outcome="infrastructure"} 0\n');
    expect(text).toContain('trawl_filings_slot_wait_seconds_count{lane="batch"} 0\n');
    expect(text).toContain('trawl_store_failing{store="documents"} 0\n');
  });

  test("of Node have their stock names", async () => {
    const text = await prometheusMetrics(METRICS).render();
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
  });
});

describe("queries of alerts and dashboards", () => {
  test("use metrics and labels that the service has", async () => {
    const known = new Map<string, Set<string>>();
    for (const line of (await everything()).split("\n")) {
      const [, name, labels = ""] = /^([a-z_0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
      if (name === undefined) continue;
      const of = known.get(name) ?? new Set(["instance"]);
      for (const [, label] of labels.matchAll(/(\w+)="/g)) of.add(label!);
      known.set(name, of);
    }
    for (const { name, isAlert } of rules) if (!isAlert) known.set(name, new Set());
    expect(queries.length).toBeGreaterThan(60);
    for (const { of, expr, legend } of queries) {
      const used = [...expr.matchAll(/\b(?:trawl|nodejs|process)[a-z_:0-9]*/g)].map(([name]) => name);
      expect([of, used.length > 0, used.filter((name) => !known.has(name))]).toEqual([of, true, []]);
      const labels = new Set(used.flatMap((name) => [...known.get(name)!]));
      const asked = [
        ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) =>
          list!.split(",").map((label) => label.trim()),
        ),
        ...[...expr.matchAll(/[{,]\s*(\w+)(?:=|!=|=~)"/g)].map(([, label]) => label!),
        ...[...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!),
      ];
      expect([of, asked.filter((label) => !labels.has(label))]).toEqual([of, []]);
    }
  });

  test.skipIf(!hasPromtool)("can be read by Prometheus", () => {
    const lines = queries.map(
      ({ expr }, index) => `      - record: "query:${index}"\n        expr: ${JSON.stringify(expr)}`,
    );
    const path = join(folder, "queries.yml");
    writeFileSync(path, `groups:\n  - name: queries\n    rules:\n${lines.join("\n")}\n`);
    const { status, output } = promtool(["check", "rules", "--lint=none", path]);
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});

describe("alerts", () => {
  test("have an entry each that says what to do, and no entry is without one", () => {
    const alerts = rules.filter(({ isAlert }) => isAlert);
    const entries = [...readFileSync(`${FOLDER}/alerts.md`, "utf8").matchAll(/^## (\w+)$/gm)].map(
      ([, name]) => name!,
    );
    expect(alerts.length).toBeGreaterThan(10);
    expect(entries).toEqual(alerts.map(({ name }) => name));
    for (const { name, runbook_url } of alerts)
      expect(runbook_url).toBe(`${FOLDER}/alerts.md#${name.toLowerCase()}`);
  });

  test.skipIf(!hasPromtool)("fire when they should on recorded series, and only then", () => {
    expect(promtool(["check", "rules", `${FOLDER}/alerts.yml`]).status).toBe(0);
    const { status, output } = promtool(["test", "rules", "alerts.test.yml"], "", FOLDER);
    expect([status, output]).toEqual([0, expect.stringContaining("SUCCESS")]);
  });
});
