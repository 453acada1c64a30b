/** Notices below articles in Chinese: what is one, and what only looks like one. */
import { expect, test } from "vitest";
import { surveyOf } from "../../../../actors/reading/article/article.ts";
import { readLinkedData } from "../../../../actors/reading/article/jsonld.ts";
import { findNotices } from "../../../../actors/reading/article/notices.ts";
import { buildTree } from "../../../../actors/reading/article/tree.ts";

const noticesAmong = (paragraphs: readonly string[], title = "渡轮加开夜班"): string[] => {
  const tree = buildTree(`<title>${title}</title>${paragraphs.map((text) => `<p>${text}</p>`).join("")}`);
  const { lines } = surveyOf(tree, readLinkedData(tree.jsonLd), "https://www.harbour.example/n/1.html");
  const found = findNotices(lines, title);
  return lines.flatMap(({ text }, i) => (found[i] ? [text] : []));
};

const NEWS = "渡轮公司昨天宣布，从今天起往返东港与北岛的渡轮每晚加开三班，票价不变。";
const REPRINTED = "• 凡注明为其他媒体来源的信息，均为转载自其他媒体，转载并不代表本网赞同其观点。";

test("a disclaimer, the heading above it and the ways to reach the editors below it", () => {
  const phone = "电话：000-12345678 传真：000-12345679";
  const mail = "邮箱：news@harbour.example 处理时间：9:00—18:00";
  expect(noticesAmong([NEWS, "声明：", REPRINTED, phone, mail, NEWS])).toEqual([
    "声明：",
    REPRINTED,
    phone,
    mail,
  ]);
});

test.each([
  ["of responsibility", "免责声明：本文仅代表作者个人观点，与本网无关。"],
  ["in traditional characters", "免責聲明：本文所載資料僅供參考，并不構成投資建議。"],
  ["of investment", "腾云声明：频道所载文章仅供投资者参考，并不构成投资建议。"],
  ["of reprinting", "本站所有内容未经书面许可，任何其他个人或组织均不得转载。"],
])("a notice %s", (_, text) => {
  expect(noticesAmong([NEWS, text])).toEqual([text]);
});

test.each([
  [
    "an article that quotes a statement",
    ["外交部发言人昨天发表声明：", "中方愿意继续谈判，双方约定下月再次会面。"],
  ],
  ["a telephone number in an article", [NEWS, "市民可以拨打电话000-12345678咨询新的班次。"]],
  ["an article about rights", ["法院认为版权属于作者的继承人，出版社应当停止销售这本书。"]],
  ["English", ["Nothing may be reprinted without permission. Telephone: 000-12345678"]],
])("%s has none", (_, paragraphs) => {
  expect(noticesAmong(paragraphs)).toEqual([]);
});

test("a page about terms has none", () => {
  expect(noticesAmong([REPRINTED], "版权声明_港湾网")).toEqual([]);
});
