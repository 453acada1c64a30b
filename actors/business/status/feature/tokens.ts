/** The token by which other features give to the public status: their components and figures. */
import { gathered } from "../../../../node/token.ts";
import type { Figures } from "../../../../schemas/status.ts";
import type { ComponentSpec } from "../component.ts";

/** Components and figures that a feature adds to the public status (/v1/status). Names of figures begin with the component's. */
export interface StatusPart {
  /** Declared on every node, also where the component's figures come from other nodes. */
  readonly components: readonly ComponentSpec[];
  /** The figures of this node. */
  readonly figures?: () => Figures;
  /** The figures of the whole cluster, looked up by each gateway. */
  readonly clusterFigures?: () => Promise<Figures>;
}

export const StatusParts = gathered<StatusPart>("status parts");
