/** A tool: its description and schema for the model, and a function that asks the API and tells the answer in Markdown. */
import type { Static, TObject } from "typebox";
import type { AskApi } from "./api.ts";

export interface ToolContext {
  readonly ask: AskApi;
  readonly sleep: (ms: number) => Promise<void>;
  /** Aborts when the client no longer waits. */
  readonly signal: AbortSignal;
  /** Tells the client that the work goes on. */
  readonly onProgress: (message: string) => void;
  /** The call goes on with an answer that was cut: what the caches have is good enough. */
  readonly is_continued: boolean;
}

/** An answer before it is cut to the model's budget. */
export interface ToolText {
  /** Stands above each part: where the text is from, and when. */
  readonly head?: string;
  /** Text that is cut; it must be the same when the tool is asked again for the next part. */
  readonly markdown: string;
  /** Small facts for programs; never the text again, which many clients would show to the model twice. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  /** For the model: when to use the tool, in few words. All of them together are in every conversation. */
  readonly description: string;
  readonly input: TObject;
  /** Whether it changes nothing: most tools read. */
  readonly is_read_only: boolean;
  /** Throws ToolError. */
  readonly tell: (args: any, context: ToolContext) => Promise<ToolText>;
}

/** Why a tool has no answer, in words that say what to try. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Definition<S extends TObject> extends Omit<Tool, "input" | "tell" | "is_read_only"> {
  readonly input: S;
  readonly is_read_only?: boolean;
  readonly tell: (args: Static<S>, context: ToolContext) => Promise<ToolText>;
}

export const tool = <S extends TObject>(definition: Definition<S>): Tool => ({
  is_read_only: true,
  ...definition,
});
