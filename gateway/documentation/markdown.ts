/** A page of the documentation from its Markdown: HTML without scripts and styles of its own, its headings, and its text for the search. */
import { Marked, type Token, type Tokens } from "marked";
import { escapeHtml } from "../html-page.ts";

export interface Heading {
  readonly id: string;
  readonly level: number;
  readonly text: string;
}

/** A heading and the text up to the next one. */
export interface Section extends Heading {
  readonly body: string;
}

export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
  readonly sections: readonly Section[];
}

/** The languages of samples, with what their tabs are called. */
const LABELS: Readonly<Record<string, string>> = { sh: "curl", ts: "TypeScript", python: "Python" };

/** A request in one of several languages. */
export interface Sample {
  readonly label: string;
  readonly lang: string;
  readonly source: string;
}

/** `lang`: one of LABELS. */
export const sampleOf = (lang: string, source: string): Sample => ({ label: LABELS[lang]!, lang, source });

export interface RenderOptions {
  /** The address of a link of the page; null: it leads to something that this service does not show. */
  readonly linkTo: (href: string) => string | null;
  /** Further forms of a fenced block. */
  readonly samplesOf: (source: string, lang: string) => readonly Sample[];
}

/** As GitHub makes the anchor of a heading, which links in the documents rely on. */
function anchors(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const plain = text
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-");
    const count = seen.get(plain) ?? 0;
    seen.set(plain, count + 1);
    return count === 0 ? plain : `${plain}-${count}`;
  };
}

const codeBlock = (source: string, lang: string): string =>
  `<pre><code class="language-${escapeHtml(lang || "text")}">${escapeHtml(source)}</code></pre>`;

function tabs(samples: readonly Sample[]): string {
  const panels = samples.map(
    ({ label, lang, source }) =>
      `<section data-label="${label}"><p class="tab-label">${label}</p>${codeBlock(source, lang)}</section>`,
  );
  return `<div class="tabs">${panels.join("")}</div>`;
}

const plainOf = (tokens: readonly Tokens.Generic[]): string =>
  tokens
    .map((token) => (token.tokens ? plainOf(token.tokens) : ((token["text"] as string | undefined) ?? "")))
    .join("");

const wordOf = ({ lang = "" }: Tokens.Code): string => /^\S*/.exec(lang)![0];

interface TabbedCode extends Tokens.Code {
  readonly samples?: readonly Sample[];
}

/** Blocks that follow each other, each in another language of samples, are one block with tabs. */
function withTabs(tokens: readonly Token[]): Token[] {
  const all: Token[] = [];
  let run: Tokens.Code[] = [];
  const flush = (): void => {
    const samples = run.map((token) => sampleOf(wordOf(token), token.text));
    const isOne = run.length > 1 && new Set(samples.map(({ lang }) => lang)).size === run.length;
    all.push(...(isOne ? [{ ...run[0]!, samples }] : run));
    run = [];
  };
  for (const token of tokens) {
    if (token.type === "space") continue;
    if (token.type === "code" && wordOf(token as Tokens.Code) in LABELS) {
      run.push(token as Tokens.Code);
      continue;
    }
    flush();
    all.push(token);
  }
  flush();
  return all;
}

export function renderMarkdown(markdown: string, { linkTo, samplesOf }: RenderOptions): Rendered {
  const anchorOf = anchors();
  const headings: Heading[] = [];
  const sections: { id: string; level: number; text: string; body: string }[] = [];
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const text = plainOf(tokens);
        const id = anchorOf(text);
        headings.push({ id, level: depth, text });
        const content = this.parser.parseInline(tokens);
        const link =
          depth === 1
            ? ""
            : ` <a class="anchor" href="#${id}" aria-label="Link to ${escapeHtml(text)}">#</a>`;
        return `<h${depth} id="${id}">${content}${link}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const address = linkTo(href);
        return address === null ? content : `<a href="${escapeHtml(address)}">${content}</a>`;
      },
      image({ href, text }) {
        const address = linkTo(href);
        return address === null
          ? escapeHtml(text)
          : `<img src="${escapeHtml(address)}" alt="${escapeHtml(text)}">`;
      },
      code(token) {
        const { text } = token;
        const word = wordOf(token);
        const samples = (token as TabbedCode).samples ?? samplesOf(text, word);
        return samples.length > 1 ? tabs(samples) : codeBlock(text, word);
      },
      table(token) {
        const cells = (row: readonly Tokens.TableCell[], tag: "th" | "td"): string =>
          row
            .map(
              ({ tokens }) =>
                `<${tag}${tag === "th" ? ' scope="col"' : ""}>${this.parser.parseInline(tokens)}</${tag}>`,
            )
            .join("");
        const rows = token.rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="table" tabindex="0"><table><thead><tr>${cells(token.header, "th")}</tr></thead><tbody>${rows}</tbody></table></div>\n`;
      },
      html: ({ text }) => escapeHtml(text),
    },
  });
  const tokens = withTabs(marked.lexer(markdown));
  const html = marked.parser(tokens);
  let n = 0;
  for (const token of tokens) {
    if (token.type === "heading") sections.push({ ...headings[n++]!, body: "" });
    else if (sections.length > 0) sections.at(-1)!.body += `${token.raw}\n`;
  }
  return { html, headings, sections };
}
