/** How a command that failed ends: what it says and its exit code. */
import { CommandError, EXIT } from "./context.ts";

/** Classes whose message is for people, by name: their modules are loaded by the commands that throw them. */
const SENTENCES = [
  "AccountError",
  "NoticeError",
  "Fault",
  "DataFormatError",
  "SecretsError",
  "SigningError",
  "CommanderError",
];

export function codeOf(problem: unknown): number {
  if (problem instanceof CommandError) return problem.code;
  return problem instanceof Error && problem.name === "ConfigError" ? EXIT.usage : EXIT.error;
}

/** Sentence of a known problem; of anything else the stack: a mistake of the program. */
export function messageOf(problem: unknown): string {
  if (!(problem instanceof Error)) return String(problem);
  const isSentence =
    problem instanceof CommandError || problem.name === "ConfigError" || SENTENCES.includes(problem.name);
  return isSentence ? problem.message : (problem.stack ?? problem.message);
}
