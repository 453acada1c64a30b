/** Announcements of an operator over HTTP: incidents and maintenance windows of the status page. */
import { Type } from "typebox";
import { Component, Field, Timestamp } from "./common.ts";
import { IMPACTS, INCIDENT_STATES } from "./status.ts";

const Title = Field(
  Type.String({ minLength: 1, maxLength: 200 }),
  "What it is, in a few words",
  "Slow fetches",
);
const Message = Field(
  Type.String({ minLength: 1, maxLength: 2_000 }),
  "What is said about it, to everyone",
  "We look into it",
);
const Components = Type.Array(Type.String({ maxLength: 80 }), { maxItems: 100 });
const OPEN_STATES = [
  "investigating",
  "identified",
  "monitoring",
] as const satisfies readonly (typeof INCIDENT_STATES)[number][];

export const IncidentBody = Component("IncidentBody", {
  title: Title,
  message: Message,
  status: Type.Optional(Field(Type.Enum([...OPEN_STATES], { default: "investigating" }), "How far it is")),
  impact: Type.Optional(
    Field(Type.Enum([...IMPACTS], { default: "degraded" }), "The least its components are shown as"),
  ),
  components: Field(Components, "What it concerns: at least one component", ["fetch"]),
});

export const IncidentChangeBody = Component("IncidentChangeBody", {
  message: Message,
  status: Type.Optional(Field(Type.Enum([...INCIDENT_STATES]), "How far it is now; default: as it was")),
  impact: Type.Optional(
    Field(Type.Enum([...IMPACTS]), "The least its components are shown as; default: as it was"),
  ),
  components: Type.Optional(Field(Components, "What it concerns now; default: as it was", ["fetch"])),
});

export const MaintenanceBody = Component("MaintenanceBody", {
  title: Title,
  message: Message,
  starts_at: Field(Timestamp, "When it begins", "2026-11-24T22:00:00.000Z"),
  ends_at: Field(Timestamp, "When it ends", "2026-11-24T23:00:00.000Z"),
  components: Type.Optional(
    Field({ ...Components, default: [] }, "What it concerns; empty: the whole service", ["storage"]),
  ),
});
