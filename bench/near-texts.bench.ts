/**
 * node bench/near-texts.bench.ts: how long it takes to say which text before is near a new one, beside a look at each of them, with 10,000 and 100,000 texts
 * before it, of which none is near; and what a text weighs. CPU in one process, in turn.
 */
import { nearTexts } from "../actors/crawl/sites/frontier/near-texts.ts";
import { isNear, type TextSketch } from "../actors/reading/content/text-sketch.ts";
import { machine } from "./harness.ts";

const LOOKS = 2_000;
let state = 1;
const bits = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0);
// The low digits of this generator repeat: the high ones of two numbers.
const half = (): number => ((bits() & 0xffff0000) | (bits() >>> 16)) >>> 0;
const sketch = (): TextSketch => ({ low: half(), high: half(), distance: 6 });

function cpuUs(look: (sketch: TextSketch) => void): number {
  const asked = Array.from({ length: LOOKS }, sketch);
  const before = process.cpuUsage();
  for (const each of asked) look(each);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / LOOKS;
}

const results = [10_000, 100_000].map((texts) => {
  const index = nearTexts();
  const all: TextSketch[] = [];
  for (let ordinal = 0; ordinal < texts; ordinal++) {
    const each = sketch();
    index.add(ordinal, each);
    all.push(each);
  }
  const rounds = Array.from({ length: 3 }, () => ({
    each_us: cpuUs((asked) => void all.find((other) => isNear(other, asked))),
    index_us: cpuUs((asked) => void index.find(asked, -1)),
  }));
  return { texts, rounds, bytes_a_text: index.bytes() / texts };
});
console.log(JSON.stringify({ machine: machine(), results }, null, 2));
