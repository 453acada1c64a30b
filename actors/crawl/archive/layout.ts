/**
 * Where each fetch is in the WARC file of a job, so that a part of the file is made without what stands before it. A layout is made
 * by writing the file once; the same records give the same file.
 */
import type { Capture, Original } from "./warc/record.ts";

/** A fetch in the file. The first group is the file's own description. */
export interface Group {
  /** The item of the job; -1: no item. */
  readonly index: number;
  /** The byte behind its last member. */
  readonly end: number;
  /** Payloads and shared exchanges that stand in it for the first time. */
  readonly originals: readonly (readonly [key: string, of: Original])[];
  readonly captures: readonly IndexedCapture[];
}

/** A capture that is found by its address, and the member that has it. */
export interface IndexedCapture extends Capture {
  readonly offset: number;
  readonly length: number;
  /** Digest of the member's bytes. */
  readonly record_digest: string;
}

export interface Layout {
  readonly bytes: number;
  readonly sha256: string;
  readonly crc32: number;
  readonly groups: readonly Group[];
}

/** A part of a WACZ file; without `sha256` it is the WARC file. */
export interface WaczEntry {
  readonly name: string;
  readonly bytes: number;
  readonly crc32: number;
  readonly sha256?: string;
}

/** The groups are a body, as JSON. */
export interface StoredLayout {
  readonly bytes: number;
  readonly sha256: string;
  readonly crc32: number;
  readonly groups_sha256: string;
  /** The parts of the WACZ file; absent: it was not asked for yet. */
  readonly wacz?: readonly WaczEntry[];
  /** Its signature names a domain: it stays as it is, whatever certificate is set later. Absent: it is anonymous. */
  readonly wacz_form?: "domain";
  /** The compression that made it: another one gives other bytes. */
  readonly compressed_by: string;
  readonly version: number;
}

/** Counts changes of how records are written: a layout of another one is made anew. */
export const LAYOUT_VERSION = 2;
