/** Starts the features of a node: all are opened, the node joins its cluster, and then all join. */
import type { AnyFeature, JoinedFeature, JoinedNode, OpenFeature, OpeningNode } from "../node/feature.ts";
import type { Token, Tokens } from "../node/token.ts";
import type { RoleActor } from "../cluster/role-actor.ts";
import type { Config } from "./config.ts";
import { FEATURES } from "./features.ts";
import type { Closers } from "./stopping.ts";

export interface StartedFeatures {
  /** In the order of the list, not of the start: routes and settings are shown in it. */
  readonly parts: readonly JoinedFeature[];
  /** The value that a feature gives for a token. */
  readonly given: <T>(of: Token<T>) => T;
}

/** `order`: as startOrder has it. */
export async function openFeatures(
  order: readonly AnyFeature[],
  node: OpeningNode,
  config: Config,
  closers: Closers,
): Promise<{
  readonly role_actors: readonly RoleActor[];
  readonly join: (node: JoinedNode) => Promise<StartedFeatures>;
}> {
  const opened = new Map<AnyFeature, OpenFeature<any, any>>();
  for (const feature of order) {
    const open = await feature.open(node, config);
    opened.set(feature, open);
    if (open.close) closers.push(open.close);
  }
  return {
    role_actors: [...opened.values()].flatMap(({ role_actors = [] }) => role_actors),
    join: (joinedNode) => joinFeatures(opened, joinedNode, closers),
  };
}

async function joinFeatures(
  opened: ReadonlyMap<AnyFeature, OpenFeature<any, any>>,
  node: JoinedNode,
  closers: Closers,
): Promise<StartedFeatures> {
  const values = new Map<Tokens[string], unknown>();
  const valueOf = (of: Tokens[string]): unknown => values.get(of) ?? (of.kind === "gathered" ? [] : null);
  const joined = new Map<AnyFeature, JoinedFeature>();
  for (const [feature, { join }] of opened) {
    const needs = Object.entries<Tokens[string]>(feature.needs);
    const part = await join(node, Object.fromEntries(needs.map(([name, need]) => [name, valueOf(need)])));
    joined.set(feature, part);
    if (part.close) closers.push(part.close);
    for (const [name, of] of Object.entries<Tokens[string]>(feature.provides)) {
      const value = part.provides[name];
      values.set(of, of.kind === "gathered" ? [...(valueOf(of) as unknown[]), ...value] : value);
    }
  }
  return {
    parts: FEATURES.flatMap((feature) => joined.get(feature) ?? []),
    given: <T>(of: Token<T>) => valueOf(of) as T,
  };
}
