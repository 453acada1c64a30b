/** Questions of the operator to all nodes together, at /v1/ops. Not a part of the public API. */
import { type Static, Type } from "typebox";
import { Component, Field, Timestamp } from "./common.ts";
import { LOG_LEVELS } from "../cluster/ports/log.ts";

/** A report of each node; its fields are NodeReport of cluster/ports/node-directory.ts, and may be those of another version. */
export const NodeReports = Type.Object({
  nodes: Type.Array(Type.Record(Type.String(), Type.Unknown())),
  partitions: Field(
    Type.Integer({ minimum: 0 }),
    "The partitions of the cluster, each of which one node owns; 0: a single process owns every key",
    64,
  ),
});

export const LogLevelChange = Type.Object({ level: Type.Enum([...LOG_LEVELS]) });
export type LogLevelChange = Static<typeof LogLevelChange>;

export const LogLevelChanged = Type.Object({
  level: Type.Enum([...LOG_LEVELS]),
  nodes: Type.Array(Type.String()),
});

/** A message without a caller that the service gave up; without its content in lists. */
export const DeadLetterView = Component("DeadLetter", {
  id: Field(Type.Integer(), "Its number", 12),
  given_up_at: Field(Timestamp, "When the service gave it up", "2026-11-23T09:12:00.000Z"),
  actor: Field(Type.String(), "The kind of the actor it was sent to", "domain"),
  key: Field(Type.String(), "The key of the actor", "example.org"),
  operation: Field(Type.String(), "What it asked for", "released"),
  bytes: Field(Type.Integer(), "The length of its message", 180),
  problem: Field(Type.String(), "What broke its last turn", "TypeError: broken"),
  retries: Field(Type.Integer(), "How often an operator had it sent again", 0),
  state: Field(
    Type.Enum(["kept", "retry", "sending"]),
    "`retry`: a node will send it; `sending`: a node does, or has ended while it did",
  ),
});
export type DeadLetterView = Static<typeof DeadLetterView>;

export const DeadLetterList = Type.Object({
  dead_letters: Field(Type.Array(DeadLetterView), "Newest first"),
});

export const WholeDeadLetter = Component("WholeDeadLetter", {
  ...DeadLetterView.properties,
  message: Field(
    Type.Union([Type.String(), Type.Null()]),
    "Its content as JSON; null: it was too long to be kept",
    "{}",
  ),
});
export type WholeDeadLetter = Static<typeof WholeDeadLetter>;
