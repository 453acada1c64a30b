/** The code blocks of a Markdown file, as the tests of the documents run them and compare them. */
import { fromMarkdown } from "mdast-util-from-markdown";

export interface Block {
  /** file:line of its fence. */
  readonly place: string;
  /** The word after the fence: sh, json, text, nginx … */
  readonly lang: string;
  /** Rest of the line after that word: `not-run` where the commands cannot be run by a test. */
  readonly meta: string;
  readonly text: string;
}

/** A node of the tree, as far as it is looked at. */
interface Node {
  readonly type: string;
  readonly lang?: string | null | undefined;
  readonly meta?: string | null | undefined;
  readonly value?: string;
  readonly position?: { readonly start: { readonly line: number } } | undefined;
  readonly children?: readonly Node[];
}

export function blocksOf(file: string, markdown: string): readonly Block[] {
  const blocks: Block[] = [];
  const walk = (node: Node): void => {
    if (node.type === "code")
      blocks.push({
        place: `${file}:${node.position!.start.line}`,
        lang: node.lang ?? "",
        meta: node.meta ?? "",
        text: node.value ?? "",
      });
    node.children?.forEach(walk);
  };
  walk(fromMarkdown(markdown));
  return blocks;
}

export interface Example {
  readonly commands: Block;
  /** Output that the documents say that the commands print: JSON or lines of text. */
  readonly output: Block | null;
}

/** The blocks of commands, each with the output that follows it; `stray`: outputs that follow no commands. */
export function examplesOf(blocks: readonly Block[]): { examples: Example[]; stray: Block[] } {
  const isOutput = ({ lang }: Block): boolean => lang === "json" || lang === "text";
  const examples = blocks.flatMap((commands, at) => {
    if (commands.lang !== "sh") return [];
    const next = blocks[at + 1];
    return [{ commands, output: next && isOutput(next) ? next : null }];
  });
  const stray = blocks.filter((block, at) => isOutput(block) && blocks[at - 1]?.lang !== "sh");
  return { examples, stray };
}
