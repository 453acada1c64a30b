/** Words that do not belong, each with what to write instead. Lint sees most of them; this sees the rest. */
import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { expect, test } from "vitest";

const BANNED: readonly { word: RegExp; instead: string; except: RegExp }[] = [
  {
    word: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    instead: "turn.now_ms, or Clock.now()",
    except: /\/adapters\/|^bench\//,
  },
  {
    word: /\bset(Timeout|Interval|Immediate)\(/,
    instead: "turn.setTimer, or Clock.at()",
    except: /\/adapters\/|^bench\//,
  },
  { word: /\bMath\.random\(|\brandomUUID\(/, instead: "turn.random, or Random.id()", except: /\/adapters\// },
  {
    word: /\bprocess\.env\b/,
    instead: "a setting in ops/config.ts",
    except: /^ops\/(check|main|engines\/main)\.ts$|^bench\/|^gateway\/adapters\/http\.uws\.ts$/,
  },
  {
    word: /^\s*(await )?using\s+\w+\s*=/m,
    instead: "try and finally: Node 22 cannot parse `using`",
    except: /^$/,
  },
  { word: /\bconsole\.(log|error|warn)\(/, instead: "the Log port", except: /^ops\/|^bench\// },
];

const tops = ["schemas", "cluster", "actors", "gateway", "ops", "bench"];
const found = await Array.fromAsync(glob(tops.map((top) => `${top}/**/*.ts`)));
// Peers in bench/ are other people's programs with packages of their own.
const files = found.filter((file) => !file.startsWith("bench/peers/"));

test.each(BANNED)("says $instead, never $word", ({ word, except }) => {
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !except.test(file) && word.test(readFileSync(file, "utf8")))).toEqual([]);
});
