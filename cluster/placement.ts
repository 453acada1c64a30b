/**
 * Where a key lives: its partition, and which node should own that. The functions are part of the stored format:
 * change them and every document's tag and every message in flight is in the wrong place.
 */
import { MAX_PARTITIONS } from "./ports/bus.ts";

/**
 * The number of partitions is a power of two and a fact of the cluster record (generation.ts). A record of an earlier version has none, and
 * means this one.
 */
export const MIN_PARTITIONS = 64;

export const isPartitionCount = (count: number): boolean =>
  count >= MIN_PARTITIONS && count <= MAX_PARTITIONS && Number.isInteger(Math.log2(count));

/**
 * Whether nodes own partitions by a table of assignments and one lease each. In a cluster of 64 each partition has a lease, so that nodes of
 * earlier versions may join it.
 */
export const usesTable = (partitionCount: number): boolean => partitionCount > MIN_PARTITIONS;

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** FNV-1a over the UTF-8 bytes, finished by Murmur3's 32-bit finaliser. */
export const hash = (text: string): number => finished(fnv1a(text, OFFSET_BASIS));

function fnv1a(text: string, basis: number): number {
  let h = basis;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) {
      // Nearly all keys are ASCII, whose characters are their bytes; this one is not.
      h = basis;
      for (const byte of Buffer.from(text)) h = Math.imul(h ^ byte, PRIME);
      break;
    }
    h = Math.imul(h ^ code, PRIME);
  }
  return h;
}

function finished(fnv: number): number {
  let h = fnv;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** The part of a key that says where it lives: up to its first space. */
export function siteOf(key: string): string {
  const end = key.indexOf(" ");
  return end === -1 ? key : key.slice(0, end);
}

/** Keys with the same `shard_by` and site are neighbours: a slot is granted and used on one node. */
export const partitionOf = (shard_by: string, key: string, partitionCount: number): number =>
  hash(`${shard_by}:${siteOf(key)}`) % partitionCount;

/** Weights of a node for `ownerOf`, of which only the partition's number is hashed anew. */
export function rendezvousWeights(node: string): (partition: number) => number {
  const basis = fnv1a(`${node}|`, OFFSET_BASIS);
  return (partition) => finished(fnv1a(String(partition), basis));
}

/** The node that should own a partition, by rendezvous hash: a hint on which all nodes agree. The lease alone decides. */
export function ownerOf(partition: number, nodes: Iterable<string>): string | null {
  let owner: string | null = null;
  let most = -1;
  for (const node of nodes) {
    const weight = hash(`${node}|${partition}`);
    // Equal weights go by name, so that nodes agree whatever order they see each other in.
    if (weight < most || (weight === most && owner !== null && node > owner)) continue;
    owner = node;
    most = weight;
  }
  return owner;
}
