/** Standard input as `-` in place of words, and whether standard output wants data. */
import type { Terminal } from "../terminal.ts";
import { CommandError, EXIT, type Json } from "./context.ts";

/** Items are printed where a program or a file takes them; a terminal gets a progress bar. */
export const isDataWanted = ({ isPiped }: Pick<Terminal, "isPiped">, { json, output }: Json): boolean =>
  isPiped || json === true || output !== undefined;

/** The words as they are; `-` alone is the lines of standard input, without empty ones. Throws CommandError. */
export async function linesOf(words: readonly string[], { read }: Pick<Terminal, "read">): Promise<string[]> {
  if (words.length !== 1 || words[0] !== "-") return [...words];
  const lines = (await read("-")).split(/\r?\n/).map((line) => line.trim());
  const given = lines.filter((line) => line !== "");
  if (given.length === 0) throw new CommandError("Standard input has no line", EXIT.usage);
  return given;
}
