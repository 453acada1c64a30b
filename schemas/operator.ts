/** What the operator asks of all nodes together, at /v1/ops. Not a part of the public API. */
import { type Static, Type } from "typebox";
import { Timestamp } from "./common.ts";
import { LOG_LEVELS } from "../cluster/ports/log.ts";

/** One report of each node; its fields are NodeReport of cluster/ports/node-directory.ts, and may be those of another version. */
export const NodeReports = Type.Object({ nodes: Type.Array(Type.Record(Type.String(), Type.Unknown())) });

export const LogLevelChange = Type.Object({ level: Type.Enum([...LOG_LEVELS]) });
export type LogLevelChange = Static<typeof LogLevelChange>;

export const LogLevelChanged = Type.Object({
  level: Type.Enum([...LOG_LEVELS]),
  nodes: Type.Array(Type.String()),
});

/** A message without a caller that the service gave up; without its content in lists. */
export const DeadLetterView = Type.Object({
  id: Type.Integer(),
  given_up_at: Timestamp,
  actor: Type.String(),
  key: Type.String(),
  operation: Type.String(),
  bytes: Type.Integer(),
  problem: Type.String(),
  retries: Type.Integer(),
  /** `retry`: a node will send it; `sending`: one does, or has ended while it did. */
  state: Type.Enum(["kept", "retry", "sending"]),
});
export type DeadLetterView = Static<typeof DeadLetterView>;

export const DeadLetterList = Type.Object({ dead_letters: Type.Array(DeadLetterView) });

export const WholeDeadLetter = Type.Object({
  ...DeadLetterView.properties,
  /** JSON; null: it was too long to be kept. */
  message: Type.Union([Type.String(), Type.Null()]),
});
export type WholeDeadLetter = Static<typeof WholeDeadLetter>;
