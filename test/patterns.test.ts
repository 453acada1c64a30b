/**
 * Every regular expression of the production code is linear on the strings that its own parts make slow: what a page or a
 * client sends may be megabytes, and a quadratic pattern takes seconds on 20,000 characters. Growth of CPU time is judged,
 * which a busy machine changes little: four times the characters may not take eight times as long in most of five rounds.
 */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { parseSync, Visitor } from "oxc-parser";
import { describe, expect, test } from "vitest";
import { type Pump, pumpsOf } from "./harness/pattern-pumps.ts";

const CODE = "{actors,gateway,node,cluster,schemas}/**/*.ts";

/** Patterns that may grow faster, and what bounds their input. */
const BOUNDED: Readonly<Record<string, string>> = {
  "actors/reading/content/alternate-links.ts (?:^|\\.)(?:[a-z0-9-]*(?:supreme":
    "a host name has 253 characters",
  "schemas/job-states.ts (\\d*)(\\D)": "written by the service itself",
};

const SIZES = { tiny: 28, probe: 800, small: 3_000, middle: 6_000, large: 12_000 } as const;
/** A linear pattern takes less for 3,000 characters on any machine, a quadratic one 1 to 50 ms. */
const SUSPECT_MS = 0.4;
/** An exponential pattern takes seconds for 28 repetitions, a cubic one minutes for 3,000 characters; a quadratic one a few milliseconds for 800. */
const PROBE_MS = 50;
const MAX_GROWTH = 8;
/** So many of at most five rounds decide. */
const MOST_ROUNDS = 3;

const textOf = ({ before, repeated, after }: Pump, chars: number): string =>
  before + repeated.repeat(Math.ceil(chars / repeated.length)) + after;

/** CPU time of the process, milliseconds. */
function timeOf(pattern: RegExp, text: string): number {
  pattern.lastIndex = 0;
  const began = process.cpuUsage();
  if (pattern.global) text.match(pattern);
  else pattern.exec(text);
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1_000;
}

const fastest = (pattern: RegExp, text: string): number =>
  Math.min(...Array.from({ length: 3 }, () => timeOf(pattern, text)));

function isSuperlinear(pattern: RegExp, pump: Pump): boolean {
  for (const chars of [SIZES.tiny * pump.repeated.length, SIZES.probe])
    if (timeOf(pattern, textOf(pump, chars)) > PROBE_MS) return true;
  const small = textOf(pump, SIZES.small);
  if (timeOf(pattern, small) < SUSPECT_MS || fastest(pattern, small) < SUSPECT_MS) return false;
  const [middle, large] = [textOf(pump, SIZES.middle), textOf(pump, SIZES.large)];
  const rounds = { slow: 0, linear: 0 };
  while (rounds.slow < MOST_ROUNDS && rounds.linear < MOST_ROUNDS) {
    const took_ms = timeOf(pattern, large);
    const isSlow =
      took_ms >= MAX_GROWTH * fastest(pattern, small) &&
      took_ms >= Math.sqrt(MAX_GROWTH) * timeOf(pattern, middle);
    rounds[isSlow ? "slow" : "linear"]++;
  }
  return rounds.slow === MOST_ROUNDS;
}

/** The first of its pumps on which a pattern is not linear. */
const slowPump = (pattern: RegExp): Pump | null =>
  pumpsOf(pattern).find((pump) => isSuperlinear(pattern, pump)) ?? null;

interface NamedPattern {
  readonly name: string;
  readonly pattern: RegExp;
}

function patternsOf(file: string): NamedPattern[] {
  const { program } = parseSync(file, readFileSync(file, "utf8"));
  const found: NamedPattern[] = [];
  new Visitor({
    Literal(node) {
      if (!("regex" in node)) return;
      const { pattern, flags } = node.regex;
      found.push({ name: `${file} ${pattern}`, pattern: new RegExp(pattern, flags) });
    },
  }).visit(program);
  return found;
}

describe("regular expressions on what was sent", () => {
  test("are linear, all of them", { timeout: 300_000 }, async () => {
    const found: NamedPattern[] = [];
    for await (const file of glob(CODE)) found.push(...patternsOf(file));
    expect(found.length).toBeGreaterThan(600);
    const seen = new Map(found.map((each) => [String(each.pattern), each]));
    const isBounded = (name: string) => Object.keys(BOUNDED).some((start) => name.startsWith(start));
    const slow = [...seen.values()].flatMap(({ name, pattern }) => {
      if (isBounded(name)) return [];
      const pump = slowPump(pattern);
      return pump ? [`${name}: slow on ${JSON.stringify(pump)}`] : [];
    });
    expect(slow).toEqual([]);
    for (const start of Object.keys(BOUNDED))
      expect(found.some(({ name }) => name.startsWith(start))).toBe(true);
  });

  test.each([
    /\s*[¶#]+$/,
    /^\s*\n|\s+$/g,
    /\s*(?:;|\||\n|·)\s*/i,
    /[,\s-]+$/,
    /\d+ free articles/,
    /<[^>]*>/g,
    /^(?:\w+\s?)*$/,
    /name\s*=\s*["']?\s*(\w+)/,
    /hugo.*docs/,
  ])("are found where they are not: %s", (pattern) => {
    expect(slowPump(pattern)).not.toBeNull();
  });

  test.each([/(?<!\s)\s+$/, /(?:(?<!\s)\s+)?[¶#]$/u, /<[^<>]*>/g, /^\s*\n/, /\d free articles/])(
    "are not where they are linear: %s",
    (pattern) => {
      expect(slowPump(pattern)).toBeNull();
    },
  );
});
