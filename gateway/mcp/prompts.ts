/** Prompts that a person picks in a client's menu. */

interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly {
    readonly name: string;
    readonly description: string;
    readonly required: boolean;
  }[];
  readonly text: (args: Readonly<Record<string, string>>) => string;
}

export const PROMPTS: readonly Prompt[] = [
  {
    name: "research",
    title: "Research a question",
    description: "Answers a question from the web, with sources",
    arguments: [{ name: "question", description: "What you want to know", required: true }],
    text: ({ question = "" }) =>
      [
        `Answer this question from the web: ${question}`,
        "",
        "1. Search with two or three different wordings.",
        "2. Fetch the pages that promise most; prefer primary sources. Read on with read_more where the answer may be further down.",
        "3. Check each important claim against a second, independent page.",
        "4. Answer first, then the reasons. Cite the address of a page behind each claim that it supports.",
        "5. Say what the sources disagree on, and what you did not find.",
      ].join("\n"),
  },
  {
    name: "company_dossier",
    title: "A company's dossier",
    description: "Who a company is, from registers, filings and the web",
    arguments: [
      { name: "company", description: "Its name, or an identifier as lei:…", required: true },
      { name: "country", description: "ISO 3166-1 alpha-2 code, where the name is common", required: false },
    ],
    text: ({ company = "", country }) =>
      [
        `Write a dossier on the company ${company}${country ? ` (${country})` : ""}.`,
        "",
        "1. resolve_company, then company with include people, ownership, financials and events.",
        "2. If it files with the SEC: filings with forms 10-K, 20-F or 40-F, then filing_document for the newest one.",
        "3. search for news of the last year, and fetch what matters.",
        "4. Write: identity and registers; business; owners and people; figures by year; recent events; open questions.",
        "5. Name the source of each fact, and mark where sources disagree.",
      ].join("\n"),
  },
];
