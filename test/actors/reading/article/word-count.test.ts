import { expect, test } from "vitest";
import { countWords, wordsIn } from "../../../../actors/reading/article/word-count.ts";

test.each([
  ["", 0, 0],
  ["The ferry left.", 3, 3],
  ["don't stop", 3, 2],
  ["state-of-the-art 3.5", 6, 2],
  ["it’s ‘quoted’", 3, 2],
  ["a- b -c", 3, 3],
  ["end-", 1, 1],
  ["naïve café_2", 2, 2],
  ["«Bonjour», dit-il", 3, 2],
  ["Паром ушёл", 2, 2],
  ["می\u200cروم", 1, 1],
  ["渡轮 No. 5", 5, 3],
  ["フェリー", 5, 1],
  ["여객선이 떠났다", 2, 2],
  ["เรือออกแล้ว", 3, 3],
])("%s has %i runs, and %i words as people count them", (text, runs, words) => {
  expect(wordsIn(text)).toBe(runs);
  expect(countWords(text, null)).toBe(words);
});
