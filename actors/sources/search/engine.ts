/** The port of a search engine: a question in, raw results or a failure out. */
import type { DomainFilter } from "./domains.ts";
import type { EngineFailure, Period } from "../../../schemas/search.ts";

export interface Question extends DomainFilter {
  readonly query: string;
  /** Who asks, for an engine that does not show the same to all projects; null: no project. */
  readonly project: string | null;
  /** xx or xx-XX. */
  readonly language: string | null;
  readonly country: string | null;
  readonly freshness: Period | null;
  /** How many results to ask for, where the upstream allows it. It may return more or fewer. */
  readonly max_results: number;
}

/** A result as the upstream gave it; merge.ts cleans and checks it. */
export interface RawResult {
  readonly url: string;
  readonly title: string | null;
  readonly snippets: readonly string[];
  readonly engines: readonly string[];
  readonly published: string | null;
}

/** An engine behind an instance that failed for this question. */
export interface Unresponsive {
  readonly engine: string;
  readonly captcha: boolean;
}

export type EngineAnswer =
  | {
      readonly kind: "answered";
      /** Best first. */
      readonly results: readonly RawResult[];
      readonly unresponsive: readonly Unresponsive[];
      /** Requests that the provider bills. */
      readonly billed: number;
    }
  | {
      readonly kind: "failed";
      readonly reason: EngineFailure;
      readonly retry_after_s: number | null;
      /** For the log. */
      readonly detail: string;
    };

/** Never throws; ends soon after the signal. */
export interface Engine {
  /** For logs and health; never a secret. */
  readonly name: string;
  readonly ask: (question: Question, signal: AbortSignal) => Promise<EngineAnswer>;
}
