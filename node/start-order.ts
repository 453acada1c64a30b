/** The order in which features start: each after those that provide what it needs, else as they are listed. Pure. */
import type { Tokens } from "./token.ts";

export interface Declared {
  readonly name: string;
  readonly needs: Tokens;
  readonly provides: Tokens;
}

/** Throws Error, which names the features and the token, for a token that no feature or that two features provide, and for a circle. */
export function startOrder<F extends Declared>(features: readonly F[]): readonly F[] {
  assertOneProvider(features);
  const order: F[] = [];
  const visit = (feature: F, trail: readonly F[]): void => {
    if (trail.includes(feature)) throw circle([...trail.slice(trail.indexOf(feature)), feature]);
    if (order.includes(feature)) return;
    for (const need of Object.values(feature.needs))
      for (const provider of providersOf(features, feature, need)) visit(provider, [...trail, feature]);
    order.push(feature);
  };
  for (const feature of features) visit(feature, []);
  return order;
}

type AnyToken = Tokens[string];

const provides = ({ provides: offered }: Declared, need: AnyToken): boolean =>
  Object.values(offered).includes(need);

function providersOf<F extends Declared>(features: readonly F[], feature: F, need: AnyToken): readonly F[] {
  const providers = features.filter((each) => provides(each, need));
  if (need.kind === "one" && providers.length === 0)
    throw new Error(
      `Cannot start the feature "${feature.name}": it needs "${need.name}", which no feature provides`,
    );
  return providers;
}

function assertOneProvider(features: readonly Declared[]): void {
  for (const { name, provides: offered } of features)
    for (const each of Object.values(offered)) {
      const other = features.find((feature) => feature.name !== name && provides(feature, each));
      if (each.kind === "one" && other)
        throw new Error(
          `Cannot start: the features "${name}" and "${other.name}" both provide "${each.name}"`,
        );
    }
}

/** `trail`: each feature needs something of the next one, and the last is the first. */
function circle(trail: readonly Declared[]): Error {
  const steps = trail.slice(1).map((provider, at) => {
    const need = Object.values(trail[at]!.needs).find((each) => provides(provider, each))!;
    return `"${trail[at]!.name}" needs "${need.name}" of "${provider.name}"`;
  });
  return new Error(`Cannot start: features need each other in a circle: ${steps.join(", ")}`);
}
