/**
 * The pictures of docs/architecture.md, drawn from the code: the floors from the imports between folders and the first lines of
 * their READMEs, the way of a URL from where its functions are declared. Both are SVG for light and dark screens.
 */
import { existsSync, readFileSync } from "node:fs";
import type { SourceFile } from "./imports.ts";

/** A box of the picture of the floors: a folder, or the doors of all slices together. */
interface Room {
  readonly name: string;
  readonly caption: string;
  readonly is_slice: boolean;
}

export interface Floor {
  readonly rooms: readonly Room[];
}

const DOORS = "actors/*/feature";

/** The room of a file: the folder of its floor; below actors/ and its neighbourhoods the folder of its subject. */
function roomOf(path: string, neighbourhoods: ReadonlySet<string>): string {
  const [top, second, third] = path.split("/") as [string, string, string?];
  if (path.includes("/feature/")) return DOORS;
  if (top === "actors") return neighbourhoods.has(second) ? `${top}/${second}/${third}` : `${top}/${second}`;
  return top === "cluster" && ["ports", "adapters"].includes(second) ? `${top}/${second}` : top;
}

/** Folders of actors/ that hold slices: neither files of their own nor a door. */
function neighbourhoodsOf(files: readonly SourceFile[]): ReadonlySet<string> {
  const inActors = files.flatMap(({ path }) => (path.startsWith("actors/") ? [path.split("/")] : []));
  const slices = inActors.filter(({ length, 2: third }) => length === 3 || third === "feature");
  const names = new Set(slices.map(([, second]) => second!));
  return new Set(inActors.map(([, second]) => second!).filter((second) => !names.has(second)));
}

/** The title of a folder's README without the folder's name. */
function captionOf(room: string): string {
  const readme = `${room}/README.md`;
  if (room === DOORS) return "settings, HTTP routes and assembly of each slice";
  if (!existsSync(readme)) return "";
  return /^# [^:\n]*: (.*)$/m.exec(readFileSync(readme, "utf8"))?.[1] ?? "";
}

/**
 * From the roof to the ground. A room stands as high as those that import it allow. Slices (subjects that no other subject
 * imports) and the gateway stand on one floor, adapters beside what uses their ports. Throws when rooms import each other in a circle.
 */
export function floorsOf(files: readonly SourceFile[]): readonly Floor[] {
  const neighbourhoods = neighbourhoodsOf(files);
  const names = [...new Set(files.map(({ path }) => roomOf(path, neighbourhoods)))];
  const importers = new Map<string, Set<string>>(names.map((name) => [name, new Set()]));
  for (const { path, imports } of files)
    for (const target of imports) {
      const [from, to] = [roomOf(path, neighbourhoods), roomOf(target, neighbourhoods)];
      if (from !== to) importers.get(to)?.add(from);
    }
  const isSubject = (name: string): boolean => name.startsWith("actors/") && name !== DOORS;
  const slices = new Set(
    names.filter((name) => isSubject(name) && ![...importers.get(name)!].some(isSubject)),
  );
  const depths = new Map<string, number>();
  const depthOf = (name: string, trail: readonly string[] = []): number => {
    if (trail.includes(name)) throw new Error(`Cannot draw floors: ${[...trail, name].join(" imports ")}`);
    const known = depths.get(name);
    if (known !== undefined) return known;
    const above = [...importers.get(name)!].map((importer) => depthOf(importer, [...trail, name]));
    const depth = Math.max(-1, ...above) + 1;
    depths.set(name, depth);
    return depth;
  };
  for (const name of names) depthOf(name);
  const highest = Math.max(...[...slices, "gateway"].map((name) => depths.get(name) ?? 0));
  const floorOf = (name: string): number => {
    if (slices.has(name) || name === "gateway") return highest;
    return name === "cluster/adapters" ? depths.get("cluster/ports")! - 1 : depths.get(name)!;
  };
  const rooms = names.map((name) => ({ name, caption: captionOf(name), is_slice: slices.has(name) }));
  return [...Map.groupBy(rooms, ({ name }) => floorOf(name)).entries()]
    .toSorted(([a], [b]) => a - b)
    .map(([, on]) => ({ rooms: on.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }));
}

const STYLE = `<style>
  svg { color-scheme: light dark; font: 13px system-ui, sans-serif; }
  .page { fill: #ffffff; } .floor { fill: #f2f4f7; } .room { fill: #ffffff; stroke: #8a94a3; }
  .slice { fill: #e3eefb; stroke: #4a7ab5; } text { fill: #1b2430; } .small { font-size: 11px; fill: #4a5565; }
  .line { stroke: #4a7ab5; fill: none; stroke-width: 2; } .dot { fill: #4a7ab5; } .guide { stroke: #c9d0da; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #10151c; } .floor { fill: #1a212b; } .room { fill: #10151c; stroke: #6b7685; }
    .slice { fill: #17304d; stroke: #6fa3df; } text { fill: #e8edf3; } .small { fill: #aab4c1; }
    .line { stroke: #6fa3df; } .dot { fill: #6fa3df; } .guide { stroke: #36404d; }
  }
</style>`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const picture = (width: number, height: number, title: string, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">
<title>${escaped(title)}</title>
${STYLE}
<rect class="page" width="${width}" height="${height}"/>
${parts.join("\n")}
</svg>
`;

const WIDTH = 960;
const [MARGIN, GAP, ROOM_HEIGHT] = [16, 10, 50];
/** As many boxes beside each other as leave room for a caption. */
const MAX_BESIDE = 4;
const MAX_CAPTION = 0.17;

/** A caption that fits under the name of a box of this width. */
const fitting = (caption: string, width: number): string => {
  const most = Math.floor(width * MAX_CAPTION);
  return caption.length <= most ? caption : `${caption.slice(0, most - 1).replace(/[\s,]+\S*$/, "")} …`;
};

export function drawFloors(floors: readonly Floor[]): string {
  const parts: string[] = [];
  let y = MARGIN;
  for (const { rooms } of floors) {
    const rows = Math.ceil(rooms.length / MAX_BESIDE);
    const beside = Math.ceil(rooms.length / rows);
    const height = rows * (ROOM_HEIGHT + GAP) + GAP;
    parts.push(
      `<rect class="floor" x="${MARGIN}" y="${y}" width="${WIDTH - 2 * MARGIN}" height="${height}" rx="6"/>`,
    );
    for (const [at, { name, caption, is_slice }] of rooms.entries()) {
      const width = Math.floor((WIDTH - 2 * MARGIN - GAP) / beside) - GAP;
      const x = MARGIN + GAP + (at % beside) * (width + GAP);
      const top = y + GAP + Math.floor(at / beside) * (ROOM_HEIGHT + GAP);
      parts.push(
        `<rect class="room${is_slice ? " slice" : ""}" x="${x}" y="${top}" width="${width}" height="${ROOM_HEIGHT}" rx="4"/>`,
        `<text x="${x + 10}" y="${top + 21}">${escaped(name)}</text>`,
        `<text class="small" x="${x + 10}" y="${top + 39}">${escaped(fitting(caption, width))}</text>`,
      );
    }
    y += height + 6;
  }
  parts.push(
    `<text class="small" x="${MARGIN}" y="${y + 14}">A folder imports only from folders below it. Blue: slices, which do not import each other.</text>`,
  );
  return picture(WIDTH, y + 26, "The floors of the code", parts);
}

/** A station of a URL: a function, and what it does with the request. */
interface Stop {
  readonly name: string;
  readonly does: string;
  /** A word of its file, where several files declare a function of this name. */
  readonly beside?: string;
}

/** From the first byte of the request to the last of the answer. */
const STOPS: readonly Stop[] = [
  {
    name: "exchange",
    does: "reads the head and the body of a request within their limits",
    beside: "releaseStream",
  },
  { name: "router", does: "finds the route of a path" },
  { name: "authenticator", does: "knows the key, its project and its limits" },
  { name: "serving", does: "claims a unit of the quota, and sees that each request ends with one row" },
  { name: "readCall", does: "checks path, query and body against their schemas" },
  { name: "fetchRequestOf", does: "fills in the defaults" },
  { name: "pendingRequests", does: "stores that the request has begun, before any work" },
  { name: "fetchService", does: "answers from the page cache, or asks the page's actor" },
  { name: "fetchActor", does: "shares one run among all callers of a page" },
  { name: "fetchPipeline", does: "runs: route after route, until one has the page" },
  { name: "nextStep", does: "names the next route, or the answer", beside: "isBlocking" },
  { name: "tierRoute", does: "calls the tier, on this node or another one" },
  { name: "tierActor", does: "waits for a place of the tier, unless its breaker is open" },
  { name: "directTransport", does: "asks for permission before each request, redirects too" },
  { name: "admit", does: "asks robots.txt and the site, and that this node still owns the page" },
  { name: "robotsActor", does: "reads robots.txt once for all callers" },
  { name: "domainActor", does: "grants a slot when the delay has passed" },
  { name: "undiciEgress", does: "connects to an address that was checked, and sends" },
  {
    name: "assess",
    does: "says what the body is: a page, a thin one, a challenge, a block",
    beside: "isTrusted",
  },
  { name: "openExtraction", does: "reads text and metadata in another process" },
  { name: "pageStore", does: "stores the bytes, then the record that names them" },
  { name: "siteOutcome", does: "says what of it the site's actor is told", beside: "answeredAt" },
  { name: "responseOf", does: "makes the answer, which the gateway sends", beside: "FetchResponse" },
];

export interface Station extends Stop {
  readonly path: string;
}

/** Each function of the way with the file that declares it. Throws when it is declared in no file or in several. */
export const stationsOf = (files: readonly SourceFile[]): readonly Station[] =>
  STOPS.map((stop) => {
    const declared = new RegExp(`^export (?:async )?(?:function|const) ${stop.name}\\b`, "m");
    const places = files
      .filter(({ text }) => declared.test(text) && text.includes(stop.beside ?? ""))
      .map(({ path }) => path);
    if (places.length !== 1)
      throw new Error(`Cannot draw the way of a URL: "${stop.name}" is in [${places.join()}]`);
    return { ...stop, path: places[0]! };
  });

const [LANE, LANES_LEFT, STEP, HEAD] = [62, 24, 30, 64];

export function drawWay(stations: readonly Station[], files: readonly SourceFile[]): string {
  const neighbourhoods = neighbourhoodsOf(files);
  const roomOfStation = ({ path }: Station): string => roomOf(path, neighbourhoods).replace("actors/*/", "");
  const lanes = [...new Set(stations.map(roomOfStation))];
  const at = (station: Station, row: number): readonly [number, number] => [
    LANES_LEFT + lanes.indexOf(roomOfStation(station)) * LANE + LANE / 2,
    HEAD + row * STEP,
  ];
  const points = stations.map(at);
  const height = HEAD + stations.length * STEP;
  const texts = LANES_LEFT + lanes.length * LANE + 8;
  const heads = lanes.map((lane, n) => {
    const x = LANES_LEFT + n * LANE + LANE / 2;
    const name = lane.split("/").at(-1)!;
    return `<text class="small" text-anchor="middle" x="${x}" y="${n % 2 === 0 ? 22 : 38}">${escaped(name)}</text>
<line class="guide" x1="${x}" y1="46" x2="${x}" y2="${height - 16}"/>`;
  });
  const way = `<polyline class="line" points="${points.map(([x, y]) => `${x},${y}`).join(" ")}"/>`;
  const rows = stations.map(
    ({ name, does }, n) => `<circle class="dot" cx="${points[n]![0]}" cy="${points[n]![1]}" r="5"/>
<text x="${texts}" y="${points[n]![1] + 4}">${escaped(name)}<tspan class="small" dx="8">${escaped(does)}</tspan></text>`,
  );
  return picture(texts + 620, height, "The way of a URL through the folders", [...heads, way, ...rows]);
}

/** The stations as a table with a link to each file, for a document in docs/. */
export const stationsTable = (stations: readonly Station[]): string =>
  [
    "| | function | does | in |",
    "| ---: | --- | --- | --- |",
    ...stations.map(
      ({ name, does, path }, n) => `| ${n + 1} | \`${name}\` | ${does} | [${path}](../${path}) |`,
    ),
    "",
  ].join("\n");
