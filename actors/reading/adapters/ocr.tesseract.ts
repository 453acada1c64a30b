/**
 * Text in pictures by Tesseract, a program that the operator installs: one process for each picture, which comes by
 * standard input; so many at once. The kernel limits its memory and CPU time, and ends it with this process.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Recognise } from "../recognise-pages.ts";

/** The program, or the data of a language, is not there: the message names the setting. */
export class NoTesseract extends Error {
  override readonly name = "ConfigError";
}

/** Memory that a process may take: its launcher sees to it. */
export const TESSERACT_MB = 1_024;
const MAX_CPU_S = 30;
const MAX_WALL_MS = 60_000;
const MAX_TEXT_BYTES = 2 * 2 ** 20;
/** The data by which it finds how a page is turned. */
const ORIENTATION = "osd";
const [WITH_ORIENTATION, WITHOUT] = ["1", "3"] as const;

interface Tesseract {
  readonly program: string;
  /** In Tesseract's form: `eng+deu`. */
  readonly languages: string;
  /** It finds how a page is turned. */
  readonly isTurned: boolean;
}

/** Throws NoTesseract. */
export function findTesseract(languages: string): Tesseract {
  const program = PLACES.find((path) => existsSync(path));
  if (program === undefined)
    throw new NoTesseract(`TRAWL_OCR: the program tesseract is not installed (${PLACES.join(", ")})`);
  const listed = spawnSync(program, ["--list-langs"], { encoding: "utf8" }).stdout.split("\n").slice(1);
  const installed = listed.map((line) => line.trim()).filter((line) => line !== "");
  const missing = languages.split("+").filter((language) => !installed.includes(language));
  if (missing.length > 0)
    throw new NoTesseract(
      `TRAWL_OCR_LANGUAGES: Tesseract has no data for "${missing.join('", "')}"; it has ${installed.join(", ")}`,
    );
  return { program, languages, isTurned: installed.includes(ORIENTATION) };
}

export interface TesseractOptions {
  /** The words before the program, which limit its memory and end it with this process. */
  readonly launcher: readonly string[];
  readonly dpi: number;
  /** Processes at once. */
  readonly most: number;
}

export function openTesseract(
  { program, languages, isTurned }: Tesseract,
  { launcher, dpi, most }: TesseractOptions,
): Recognise {
  const words = [
    ...launcher,
    "/bin/sh",
    "-c",
    `ulimit -t ${MAX_CPU_S}; exec "$0" "$@"`,
    program,
    "stdin",
    "stdout",
    "-l",
    languages,
    "--dpi",
    String(dpi),
    "--psm",
    isTurned ? WITH_ORIENTATION : WITHOUT,
  ];
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (picture, signal) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return signal.aborted ? null : await run(words, picture, signal);
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

function run(words: readonly string[], picture: Uint8Array, signal: AbortSignal): Promise<string | null> {
  const [program, ...rest] = words as [string, ...string[]];
  const child = spawn(program, rest, {
    // More threads of one process take more CPU time for the same page.
    env: { OMP_THREAD_LIMIT: "1" },
    stdio: ["pipe", "pipe", "ignore"],
    timeout: MAX_WALL_MS,
    killSignal: "SIGKILL",
    signal,
  });
  return new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    child.stdout.on("data", (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= MAX_TEXT_BYTES) pieces.push(piece);
      else child.kill("SIGKILL");
    });
    child.stdin.on("error", () => {}); // It ended before it had read the picture: its code says so.
    child.on("error", () => resolve(null));
    child.on("close", (code) => resolve(code === 0 ? Buffer.concat(pieces).toString() : null));
    child.stdin.end(picture);
  });
}

/** Where packages of the system put it. */
const PLACES = ["/usr/local/bin/tesseract", "/usr/bin/tesseract", "/opt/homebrew/bin/tesseract"];
