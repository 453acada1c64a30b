/** What the operator asks of all nodes together, at /v1/ops. Not a part of the public API. */
import { type Static, Type } from "typebox";
import { LOG_LEVELS } from "../cluster/ports/log.ts";

/** One report of each node; its fields are NodeReport of cluster/ports/node-directory.ts, and may be those of another version. */
export const NodeReports = Type.Object({ nodes: Type.Array(Type.Record(Type.String(), Type.Unknown())) });

export const LogLevelChange = Type.Object({ level: Type.Enum([...LOG_LEVELS]) });
export type LogLevelChange = Static<typeof LogLevelChange>;

export const LogLevelChanged = Type.Object({
  level: Type.Enum([...LOG_LEVELS]),
  nodes: Type.Array(Type.String()),
});
