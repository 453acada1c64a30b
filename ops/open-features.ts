/** Opens the features in their order. A feature sees what the features before it contribute. */
import type { Config } from "./config.ts";
import type { FeatureContext, OpenFeature } from "../node/feature.ts";
import { FEATURES } from "./features.ts";
import type { Closers } from "./stopping.ts";

export async function openFeatures(
  shared: FeatureContext,
  config: Config,
  closers: Closers,
): Promise<readonly OpenFeature[]> {
  const opened: OpenFeature[] = [];
  let context: FeatureContext = { ...shared, opened };
  for (const feature of FEATURES) {
    const open = await feature.open(context, config);
    opened.push(open);
    if (open.close) closers.push(open.close);
    const reserved = open.reserved_hosts;
    if (!reserved) continue;
    context = {
      ...context,
      egress: reserved.denyEgress(context.egress),
      unreserved_destination: reserved.denyDestination(context.unreserved_destination),
    };
  }
  return opened;
}
