/**
 * node bench/compression.bench.ts [--pairs 9]: CPU of compressing a body of 8 KiB in the context that is kept (kept-compressor.ts) beside
 * zstdCompressSync, which makes a context for each: blocks of 2,000 in turn in one process.
 */
import assert from "node:assert/strict";
import { parseArgs } from "node:util";
import { constants, zstdCompressSync } from "node:zlib";
import { keptCompressor } from "../cluster/adapters/blobs/kept-compressor.ts";
import { machine, median } from "./harness.ts";

const { values } = parseArgs({ options: { pairs: { type: "string", default: "9" } } });
const TIMES = 2_000;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
const words = (n: number): string => `In the year ${1_000 + (n % 900)} ${n % 97} travellers described it. `;
const page = Buffer.from(
  `<!doctype html>${Array.from({ length: 300 }, (_, n) => `<p>${words(n * 31)}</p>`).join("")}`,
);
const content = page.subarray(0, 8_192);

const compressors = {
  anew: (each: Buffer) => zstdCompressSync(each, { ...LEVEL, pledgedSrcSize: each.length }),
  kept: keptCompressor(65_536, LEVEL),
};
assert(compressors.kept(content).equals(compressors.anew(content)));

function cpuUs(compress: (each: Buffer) => Buffer): number {
  const before = process.cpuUsage();
  for (let n = 0; n < TIMES; n++) compress(content);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / TIMES;
}

for (const compress of Object.values(compressors)) cpuUs(compress);
const pairs = Array.from({ length: Number(values.pairs) }, () => ({
  anew_us: cpuUs(compressors.anew),
  kept_us: cpuUs(compressors.kept),
}));
const rounded = (number: number): number => Math.round(number * 100) / 100;
const ratios = pairs.map(({ anew_us, kept_us }) => kept_us / anew_us).toSorted((a, b) => a - b);
console.log(
  JSON.stringify({
    anew_us: rounded(median(pairs.map(({ anew_us }) => anew_us))),
    kept_us: rounded(median(pairs.map(({ kept_us }) => kept_us))),
    ratio: rounded(median(ratios)),
    ratios: ratios.map(rounded),
    machine: machine(),
  }),
);
