/** The language model of the settings, over a connection that reaches its host and no other. */
import { onlyTo } from "../../../../cluster/adapters/egress/upstream-proxy.ts";
import type { OpeningNode } from "../../../../node/feature.ts";
import { type Chat, chatWith } from "../model/chat.ts";
import type { TokenPrices } from "../model/extract-by-model.ts";
import { type ModelTurns, modelTurns } from "../model/turns.ts";
import type { FetchSettings } from "./settings.ts";

export interface OpenModel {
  readonly chat: Chat;
  readonly prices: TokenPrices;
  readonly turns: ModelTurns;
  readonly close: () => Promise<void>;
}

/** Null: none is configured. */
export function openModel(node: OpeningNode, { model }: FetchSettings): OpenModel | null {
  const { url, key = null, name, price_in, price_out, concurrency } = model;
  const { clock, metrics } = node;
  if (url === undefined || name === undefined) return null;
  // Its address may be private: the operator named it.
  const egress = node.openEgress({ judge: onlyTo(new URL(url)) });
  return {
    chat: chatWith(egress, { url, key, model: name }, clock),
    prices: { input: Number(price_in), output: Number(price_out) },
    turns: modelTurns(clock, concurrency, (waiting) => metrics.gauge("trawl_model_waiting", {}, waiting)),
    close: () => egress.close(),
  };
}
