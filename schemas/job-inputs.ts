/**
 * The inputs of a job's items as they are stored: one that holds a login (in its address, in header fields or cookies that it
 * sends) is sealed whole, the others stay readable for the operator.
 */
import { CHUNK_ITEMS, chunkKey } from "./jobs.ts";

export type Input = Readonly<Record<string, unknown>>;

/** Readers of addresses leave these out: before them, and some within. */
// oxlint-disable-next-line no-control-regex
const NOT_READ = /[\u0000-\u0020]+/g;
const LOGIN = /^[a-z][a-z0-9+.-]*:[/\\]*[^/\\?#]*@/i;
/** Fields of an item whose values may be secrets, whatever they say. */
const PRIVATE_FIELDS: readonly string[] = ["headers", "cookies", "body", "actions", "sealed"];
export const isPrivateField = (name: string): boolean => PRIVATE_FIELDS.includes(name);

/** Where the input of an item is sealed for. */
export const inputPlace = (job_id: string, index: number) => ({
  collection: "job_items",
  key: chunkKey(job_id, index),
  field: String(index % CHUNK_ITEMS),
});

/** Whether the input must not be stored in clear. */
export const holdsLogin = (input: Input): boolean =>
  PRIVATE_FIELDS.some((field) => input[field] != null) ||
  Object.values(input).some(
    (value) => typeof value === "string" && LOGIN.test(value.replaceAll(NOT_READ, "")),
  );

export const sealedInput = (input: Input, seal: (text: string) => string): Input =>
  holdsLogin(input) ? { sealed: seal(JSON.stringify(input)) } : input;

/** Throws what `open` throws. */
export const openedInput = (stored: Input, open: (text: string) => string): Input =>
  typeof stored["sealed"] === "string" ? (JSON.parse(open(stored["sealed"])) as Input) : stored;
