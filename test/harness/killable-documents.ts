/** A document store as a process sees it that is killed after so many writes. */
import type { Documents } from "../../cluster/ports/documents.ts";

/** The writes of a process that is killed after some of them: what follows has no effect and no answer. */
export function killable(documents: Documents): Documents & { left: number } {
  const dead = (): Promise<never> => new Promise(() => {});
  const write =
    <Args extends unknown[], T>(run: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (process.left <= 0) return dead();
      process.left--;
      const answer = await run(...args);
      return process.left <= 0 ? dead() : answer;
    };
  const process = {
    ...documents,
    left: Infinity,
    put: write(documents.put.bind(documents)),
    remove: write(documents.remove.bind(documents)),
  };
  return process;
}
