/**
 * Which folder may import which. The table is the architecture; change it deliberately.
 *
 * A folder may import itself and what is listed for it, nothing else. Packages that touch the outside
 * world are named beside the one place allowed to hold them.
 */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

/** From the ground up: a floor may import only floors that stand before it. */
const FLOORS: Record<string, string[]> = {
  "cluster/contracts": [],
  "cluster/ports": ["cluster/contracts"],
  // The runtime knows nothing that is above it, the shapes of the product included.
  cluster: ["cluster/contracts", "cluster/ports"],
  // Helpers of any adapter that keeps a file.
  "cluster/adapters/files": ["cluster/contracts", "cluster/ports"],
  "cluster/adapters": ["cluster/contracts", "cluster/ports", "cluster/adapters/files"],
  "cluster/examples": ["cluster/contracts", "cluster/ports", "cluster", "cluster/adapters"],
  schemas: ["cluster/contracts", "cluster/ports"],
  "actors/lib": ["schemas", "cluster/contracts", "cluster/ports"],
  // Readers that make text of bytes: pages, feeds, PDFs, office files.
  "actors/reading": ["schemas", "actors/lib", "cluster/contracts", "cluster/ports"],
  // Collections that the gateway shares with slices.
  records: ["schemas", "cluster", "cluster/contracts", "cluster/ports"],
  "actors/sources/upstream": [
    "schemas",
    "actors/lib",
    "actors/reading",
    "cluster",
    "cluster/contracts",
    "cluster/ports",
  ],
  "actors/work/callbacks": ["schemas", "actors/lib", "actors/reading", "cluster/contracts", "cluster/ports"],
  "actors/*/*": [
    "schemas",
    "records",
    "actors/lib",
    "actors/reading",
    "actors/sources/upstream",
    "actors/work/callbacks",
    "cluster",
    "cluster/contracts",
    "cluster/ports",
  ],
  "actors/*/*/adapters": [
    "schemas",
    "actors/lib",
    "actors/reading",
    "actors/*/*",
    "cluster/contracts",
    "cluster/ports",
    "cluster/adapters/files",
  ],
  gateway: ["schemas", "records", "cluster", "cluster/contracts", "cluster/ports"],
  // Settings of a node, and the form of a feature. It knows no feature.
  node: [
    "schemas",
    "cluster",
    "cluster/contracts",
    "cluster/ports",
    "actors/lib",
    "actors/reading",
    "gateway",
  ],
  // A slice's door: its settings, routes and assembly. It stands above the gateway, and may join several slices.
  "actors/*/*/feature": [
    "schemas",
    "records",
    "cluster",
    "cluster/contracts",
    "cluster/ports",
    "cluster/adapters/files",
    "cluster/adapters",
    "actors/lib",
    "actors/reading",
    "actors/*/*",
    "actors/*/*/adapters",
    "actors/sources/upstream",
    "actors/work/callbacks",
    "gateway",
    "node",
  ],
  // Programs beside the service: what they know of it is made of its API document.
  "clients/typescript": [],
  // Examples that users copy: they import the client by its name, and nothing else of the repository.
  examples: [],
  ops: [
    "schemas",
    "records",
    "cluster",
    "cluster/contracts",
    "cluster/ports",
    "cluster/adapters/files",
    "cluster/adapters",
    "actors/lib",
    "actors/reading",
    "actors/sources/upstream",
    "actors/*/*",
    "actors/*/*/adapters",
    "actors/*/*/feature",
    "gateway",
    "node",
  ],
};

const HOLDERS: Record<string, RegExp> = {
  mongodb: /\/adapters\/.*\.mongo\.ts$/,
  nats: /\/adapters\/.*\.nats\.ts$/,
  "@nats-io/jetstream": /\/adapters\/.*\.nats\.ts$/,
  "@nats-io/kv": /\/adapters\/.*\.nats\.ts$/,
  "@aws-sdk/client-s3": /\/adapters\/.*\.s3\.ts$/,
  "node:sqlite": /\/adapters\/.*\.sqlite\.ts$/,
  undici: /\/adapters\/.*\.undici\.ts$/,
  playwright: /\/tiers\/adapters\/(?:browser-pool|running-browsers|page-readiness)\.ts$/,
  pino: /\/adapters\/.*\.pino\.ts$/,
  ...Object.fromEntries(
    ["api", "core", "resources", "sdk-trace", "exporter-trace-otlp-proto"].map((name) => [
      `@opentelemetry/${name}`,
      /\/adapters\/.*\.otel\.ts$/,
    ]),
  ),
  "@modelcontextprotocol/server": /^gateway\/mcp\/mcp-server\.ts$/,
  "@modelcontextprotocol/server/stdio": /^gateway\/mcp\/mcp-server\.ts$/,
  "prom-client": /\/adapters\/.*\.prometheus\.ts$/,
  "uWebSockets.js": /^gateway\/adapters\/http\.uws\.ts$/,
  "node:fs": /\/adapters\/|^ops\//,
  "node:timers/promises": /\/adapters\//,
};

const IMPORT = /^(?:import|export)\s[^;]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

/**
 * A file in actors/crawl/tiers/adapters/ is on the floor "actors/star/star/adapters", one in actors/crawl/tiers/ on "actors/star/star". So are those of a
 * part of a slice that has adapters of its own, such as actors/sources/companies/imports/.
 */
function floorOf(path: string): string {
  const folders = dirname(path).split("/");
  const [top, second, third, fourth] = folders as [string, string?, string?, string?];
  const names = [
    `${top}/*/*/${folders.slice(3).at(-1)}`,
    `${top}/*/*/${fourth}`,
    `${top}/${second}/${third}`,
    `${top}/${second}`,
    third ? `${top}/*/*` : top,
    top,
  ];
  return names.find((name) => name in FLOORS)!;
}

/** Only the runtime itself imports its internal folder; a benchmark may measure it. */
const isOpened = (file: string, target: string): boolean =>
  target.startsWith("cluster/internal/") && !/^(?:cluster|bench)\//.test(file);

/** Slices are neighbours on one floor: they never import each other, only what lies below. */
const sliceOf = (path: string): string | undefined =>
  ["actors/*/*", "actors/*/*/adapters"].includes(floorOf(path)) ? path.split("/")[2] : undefined;

function goesDown(file: string, target: string): boolean {
  const [from, onto] = [floorOf(file), floorOf(target)];
  const neighbour = sliceOf(file) && sliceOf(target) && sliceOf(file) !== sliceOf(target);
  return !neighbour && (from === onto || FLOORS[from]!.includes(onto));
}

/** Files behind a door are their slice's own; others take its tokens. */
function isBehindAnotherDoor(file: string, target: string): boolean {
  const isBehind = /^actors\/\w+\/\w+\/feature\/(?!tokens\.ts$)/.test(target);
  return isBehind && file.startsWith("actors/") && file.split("/")[2] !== target.split("/")[2];
}

// Built, not written out: knip takes a literal glob() for a list of entry points and stops seeing dead files.
const tops = [...new Set(Object.keys(FLOORS).map((floor) => floor.split("/")[0]!))];
const found = await Array.fromAsync(glob(tops.map((top) => `${top}/**/*.ts`)));
// Peers in bench/ are other people's programs with packages of their own.
const files = found.filter((file) => !file.startsWith("bench/peers/"));
const imports = files.flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, a, b, c]) => ({ file, to: (a ?? b ?? c)! })),
);
const inside = imports
  .filter(({ to }) => to.startsWith("."))
  .map(({ file, to }) => ({ file, target: relative(".", join(dirname(file), to)) }));

test("looks at something", () => {
  expect(inside.length).toBeGreaterThan(files.length / 2);
});

test("the floors stand one above the other, and each is a folder", () => {
  const names = Object.keys(FLOORS);
  const upward = names.flatMap((floor, height) =>
    FLOORS[floor]!.filter((lower) => !names.slice(0, height).includes(lower)).map(
      (lower) => `${floor} -> ${lower}`,
    ),
  );
  expect(upward).toEqual([]);
  expect(names.filter((name) => name.endsWith(".ts"))).toEqual([]);
});

test("every import goes down", () => {
  const upward = inside.filter(({ file, target }) => !goesDown(file, target));
  expect(upward.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
});

test("the runtime alone imports what is internal to it", () => {
  const opened = inside.filter(({ file, target }) => isOpened(file, target));
  expect(opened.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
});

test("a feature takes nothing of another one's door but its tokens", () => {
  const others = inside.filter(({ file, target }) => isBehindAnotherDoor(file, target));
  expect(others.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
});

test("the outside world is touched only by its holders", () => {
  expect(imports.filter(({ file, to }) => HOLDERS[to] && !HOLDERS[to].test(file))).toEqual([]);
});

test("no file imports itself through others", () => {
  const graph = Map.groupBy(inside, ({ file }) => file);
  const done = new Set<string>();
  const walk = (file: string, trail: string[]): string[] => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return [];
    const circle = (graph.get(file) ?? []).flatMap(({ target }) => walk(target, [...trail, file]));
    done.add(file);
    return circle;
  };
  expect(files.flatMap((file) => walk(file, []))).toEqual([]);
});
