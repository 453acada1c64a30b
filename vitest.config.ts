import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import ciReporter, { reportFile } from "./test/harness/ci-reporter.ts";
import { stagesToBuild } from "./test/harness/images.ts";
import { seedOfRun } from "./test/harness/seed.ts";
import { SlowestFirst } from "./test/harness/slowest-first.ts";
import { shrinkableConstants } from "./test/sim/constants.ts";

/** Minutes, root, buildah and mmdebstrap: built only where a command names stages (bench/results/2026-11-26-images.md). */
const IMAGES = stagesToBuild().length === 0 ? ["test/scenarios/images.test.ts"] : [];

/** What needs a real engine, a browser, a process or a server of ours: the adapters, each held to its port. */
const PORTS = [
  "test/ports/**/*.test.ts",
  "test/actors/crawl/tiers/**/*.test.ts",
  "test/cluster/adapters/egress/**/*.test.ts",
  "test/clients/scenarios.test.ts",
  "test/engines.test.ts",
  "test/actors/sources/filings/source.test.ts",
  "test/actors/reading/{extract,adapters/ocr.tesseract}.test.ts",
  "test/ops/data-format.test.ts",
  "test/ops/deploy.test.ts",
  "test/actors/sources/search/searx.test.ts",
];
/** The whole program as a child, over HTTP. */
const SCENARIOS = ["test/scenarios/**/*.test.ts", "test/tenants/**/*.test.ts", "test/ops/stores.test.ts"];
/** A whole cluster on a virtual clock, with faults from a seed. */
const SIMULATION = ["test/sim/**/*.test.ts"];
/** What takes CPU time: large and hostile documents, whole collections of pages, every crash of a course. */
const LIMITS = [
  "test/patterns.test.ts",
  "test/actors/reading/{office,article/article,article/article-gold,article/article-length,content/pdf,markdown/markdown}.test.ts",
  "test/actors/lib/web/robots.test.ts",
  "test/actors/{sources/companies,work/jobs}/crash.test.ts",
  "test/gateway/{charges,pending-requests}.test.ts",
  "test/actors/crawl/fetch/page-backlog.test.ts",
  "test/cluster/stored-bounds.test.ts",
  "test/ops/{backup,collect-bodies}.test.ts",
  "test/actors/sources/search/local-index.test.ts",
  "test/actors/business/accounts/actor.test.ts",
  "test/actors/sources/filings/limiter.test.ts",
];
const seed = seedOfRun();
const report = reportFile();
const TEST = {
  // Threads abort at exit when uWebSockets.js was loaded; forks do not.
  pool: "forks",
  // Files share the modules of their process: loading them for each file was a third of the unit project's CPU time.
  isolate: false,
  testTimeout: 20_000,
  hookTimeout: 60_000,
  provide: { seed },
  setupFiles: ["test/harness/seed.setup.ts"],
} satisfies ViteUserConfig["test"];

export default defineConfig({
  test: {
    // Once a run, not once a project.
    globalSetup: ["test/harness/engines.setup.ts", "test/harness/seed.global.ts"],
    provide: { seed },
    // Five kept two cores at a load of 8 to 13, where steps of browsers and clusters with limits of ten seconds failed on a slow machine.
    maxWorkers: 3,
    sequence: { sequencer: SlowestFirst },
    reporters: report === undefined ? ["default"] : ["default", ciReporter(report)],
    projects: [
      {
        test: {
          ...TEST,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...PORTS, ...SCENARIOS, ...SIMULATION, ...LIMITS],
        },
      },
      {
        test: {
          ...TEST,
          name: "limits",
          include: LIMITS,
          testTimeout: 180_000,
          setupFiles: [...TEST.setupFiles, "test/harness/cpu-budget.setup.ts"],
        },
      },
      {
        plugins: [shrinkableConstants(import.meta.dirname)],
        test: { ...TEST, name: "simulation", include: SIMULATION, testTimeout: 60_000 },
      },
      { test: { ...TEST, name: "ports", include: PORTS, testTimeout: 60_000 } },
      // A service is started in a test or its hook, which on two busy cores takes the time of two nodes' start. The limit of time is
      // for what hangs: items that cool down for 30 s took more than 60 s beside others.
      {
        test: {
          ...TEST,
          name: "scenarios",
          include: SCENARIOS,
          exclude: [...configDefaults.exclude, ...IMAGES],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
