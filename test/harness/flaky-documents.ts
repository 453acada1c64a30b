/** A document store that can be away, or lose its answers after it has done what it was asked. */
import { memoryDocuments } from "../../cluster/adapters/documents/documents.memory.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { Fault } from "../../cluster/ports/fault.ts";

export interface FlakyDocuments extends Documents {
  /** away: nothing is done; deaf: it is done, and the answer is lost. */
  mode: "here" | "away" | "deaf";
  /** Puts that were asked for. */
  puts: number;
}

export function flakyDocuments(documents: Documents = memoryDocuments()): FlakyDocuments {
  async function call<T>(run: () => Promise<T>): Promise<T> {
    if (store.mode === "away") throw new Fault("documents_unreachable", "The store is away");
    const answer = await run();
    if (store.mode === "deaf") throw new Fault("documents_unreachable", "The answer is lost");
    return answer;
  }
  const store: FlakyDocuments = {
    ...documents,
    mode: "here",
    puts: 0,
    get: (...args) => call(() => documents.get(...args)),
    list: (...args) => call(() => documents.list(...args)),
    put(...args) {
      store.puts++;
      return call(() => documents.put(...args));
    },
  };
  return store;
}
