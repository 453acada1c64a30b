/**
 * Features that a line shares with others: with its group of similar siblings (cards, posts, rows), with all lines of the same
 * structure, and with its section. Lines of one kind are text together or not at all, and a single line says little about its kind.
 */
import type { Groups } from "./groups.ts";
import type { Line } from "./lines.ts";
import { isHeading, type Page } from "./marks.ts";
import { firstClass } from "./tree.ts";

/** Numbers that saturate, for the reason that features.ts gives. */
const PEERS_MAX = 40;
const DISTANCE_MAX = 40;
const SECTION_CHARS_MAX = 4_000;
const PROSE_CHARS = 80;
const PROSE_LINK = 0.4;

export const isProse = (line: Line): boolean => line.chars > PROSE_CHARS && line.link < PROSE_LINK;

/** Sums over the lines of one group, one structure or one section. */
interface Sums {
  lines: number;
  chars: number;
  link_chars: number;
  prose_chars: number;
  long: number;
  headings: number;
  junk: number;
  /** Lines that the rules for articles select. */
  chosen: number;
  first: number;
  last: number;
}

const none = (): Sums => ({
  lines: 0, chars: 0, link_chars: 0, prose_chars: 0, long: 0, headings: 0, junk: 0, chosen: 0, first: -1, last: -1,
}); // prettier-ignore

function add(sums: Sums, line: Line, i: number, isChosen: boolean): void {
  sums.lines += 1;
  sums.chars += line.chars;
  sums.link_chars += line.chars * line.link;
  if (isProse(line)) {
    sums.prose_chars += line.chars;
    sums.long += 1;
  }
  if (isHeading(line.tag)) sums.headings += 1;
  if (line.junk || line.pointer) sums.junk += 1;
  if (isChosen) sums.chosen += 1;
  if (sums.first < 0) sums.first = i;
  sums.last = i;
}

/** Element and first class of a block and of the two blocks around it: lines that look alike on the page have the same. */
function structures(page: Page, lines: readonly Line[]): Int32Array {
  const { tree } = page;
  const ids = new Map<string, number>();
  const byNode = new Map<number, number>();
  const nameOf = (node: number): string => (node <= 0 ? "" : `${tree.tag[node]!}.${firstClass(tree, node)}`);
  /** The end of the keys of all blocks in one parent. */
  const around = new Map<number, string>();
  return Int32Array.from(lines, ({ node }) => {
    let id = byNode.get(node);
    if (id !== undefined) return id;
    const up = Math.max(0, tree.parent[node]!);
    let rest = around.get(up);
    if (rest === undefined) around.set(up, (rest = `${nameOf(up)}>${nameOf(Math.max(0, tree.parent[up]!))}`));
    const key = `${nameOf(node)}>${rest}`;
    id = ids.get(key);
    if (id === undefined) ids.set(key, (id = ids.size));
    byNode.set(node, id);
    return id;
  });
}

/** The groups and parts that each line belongs to, for decisions that are made together. */
export interface Peers {
  /** The innermost group of similar siblings that contains the line, or -1. */
  readonly group: Int32Array;
  /** The group around that one, or -1. */
  readonly outer: Int32Array;
  readonly structure: Int32Array;
  /** The last heading at or above the line, counted from 1; 0 above the first. */
  readonly section: Int32Array;
}

export function peersOf(page: Page, lines: readonly Line[], groups: Groups): Peers {
  const count = lines.length;
  const group = new Int32Array(count).fill(-1);
  const outer = new Int32Array(count).fill(-1);
  const section = new Int32Array(count);
  let sections = 0;
  for (let i = 0; i < count; i += 1) {
    const { node, tag } = lines[i]!;
    if (isHeading(tag)) sections += 1;
    section[i] = sections;
    group[i] = groups.of[node]!;
    const member = groups.member[node]!;
    if (member >= 0) outer[i] = groups.of[page.tree.parent[member]!]!;
  }
  return { group, outer, structure: structures(page, lines), section };
}

interface PeerContext {
  readonly lines: readonly Line[];
  readonly groups: Groups;
  readonly prose: ReadonlySet<number>;
  readonly title: string;
  readonly peers: Peers;
}

const upTo = (value: number, most: number): number => Math.log1p(Math.min(value, most));
const near = (distance: number): number => Math.max(-DISTANCE_MAX, Math.min(DISTANCE_MAX, distance));

const GROUP_FEATURES = 17;
const NO_GROUP = new Float32Array(GROUP_FEATURES).fill(-1);
export const PEER_FEATURES = 2 * GROUP_FEATURES + 14;

/** Writes the PEER_FEATURES features of a line into `rows`, from `at` on. */
type WritePeerFeatures = (i: number, rows: Float32Array, at: number) => void;

export function peerFeatures({ lines, groups, prose, title, peers }: PeerContext): WritePeerFeatures {
  const count = lines.length;
  const byGroup = new Map<number, Sums>();
  const byStructure = new Map<number, Sums>();
  const bySection = new Map<number, Sums>();
  const sumsOf = (map: Map<number, Sums>, key: number): Sums => {
    let sums = map.get(key);
    if (!sums) map.set(key, (sums = none()));
    return sums;
  };
  /** The heading above each line, the line itself excluded. */
  const headingAbove = new Int32Array(count).fill(-1);
  let total = 0;
  for (const [i, line] of lines.entries()) {
    if (i > 0) headingAbove[i] = isHeading(lines[i - 1]!.tag) ? i - 1 : headingAbove[i - 1]!;
    total += line.chars;
    const isChosen = prose.has(i);
    const group = peers.group[i]!;
    const outer = peers.outer[i]!;
    if (group >= 0) add(sumsOf(byGroup, group), line, i, isChosen);
    if (outer >= 0 && outer !== group) add(sumsOf(byGroup, outer), line, i, isChosen);
    add(sumsOf(byStructure, peers.structure[i]!), line, i, isChosen);
    add(sumsOf(bySection, peers.section[i]!), line, i, isChosen);
  }
  const h1 = lines.findIndex(({ tag }) => tag === "h1");
  const biggest = groups.list.find(({ rank }) => rank === 0)?.text ?? 1;
  const titleWords = new Set(title.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu));
  const likeTitle = (text: string): number => {
    const words =
      text
        .toLowerCase()
        .slice(0, 200)
        .match(/[\p{L}\p{N}]{3,}/gu) ?? [];
    return words.length === 0 ? 0 : words.filter((word) => titleWords.has(word)).length / words.length;
  };
  const ofGroup = (id: number): Float32Array => {
    const group = groups.list[id];
    const sums = byGroup.get(id);
    if (!group || !sums) return NO_GROUP;
    const heading = headingAbove[sums.first]!;
    const above = lines[heading];
    const links = group.links || 1;
    return Float32Array.of(
      group.spread, Math.min(group.rank, 6), group.text / biggest, upTo(group.links / group.count, PEERS_MAX),
      group.below / links, group.shared / links, group.away / links,
      sums.lines / group.count, sums.long / sums.lines, sums.prose_chars / sums.chars, sums.junk / sums.lines, sums.chosen / sums.lines,
      h1 < 0 ? -DISTANCE_MAX - 1 : near(sums.first - h1), above ? near(sums.first - heading) : DISTANCE_MAX,
      above ? Number(above.tag[1]) : 0, above ? (above.ending ? 2 : above.junk ? 1 : 0) : -1, above ? likeTitle(above.text) : -1,
    ); // prettier-ignore
  };
  const groupFeatures = new Map<number, Float32Array>();
  const cached = (id: number): Float32Array => {
    let features = groupFeatures.get(id);
    if (!features) groupFeatures.set(id, (features = ofGroup(id)));
    return features;
  };
  const ofStructure = new Map<number, Float32Array>();
  const structureFeatures = (id: number): Float32Array => {
    let features = ofStructure.get(id);
    if (features) return features;
    const structure = byStructure.get(id)!;
    features = Float32Array.of(
      upTo(structure.lines, PEERS_MAX), structure.chars / total, upTo(structure.chars / structure.lines, SECTION_CHARS_MAX),
      structure.link_chars / structure.chars, structure.prose_chars / structure.chars, structure.junk / structure.lines, structure.chosen / structure.lines,
      h1 < 0 ? -DISTANCE_MAX - 1 : near(structure.first - h1),
    ); // prettier-ignore
    ofStructure.set(id, features);
    return features;
  };
  return (i, rows, at) => {
    rows.set(cached(peers.group[i]!), at);
    rows.set(cached(peers.outer[i]!), at + GROUP_FEATURES);
    rows.set(structureFeatures(peers.structure[i]!), at + 2 * GROUP_FEATURES);
    const section = bySection.get(peers.section[i]!)!;
    const values = [
      upTo(section.lines, PEERS_MAX), upTo(section.chars, SECTION_CHARS_MAX), section.link_chars / section.chars, section.prose_chars / section.chars,
      section.chosen / section.lines, near(i - section.first),
    ]; // prettier-ignore
    rows.set(values, at + PEER_FEATURES - values.length);
  };
}
