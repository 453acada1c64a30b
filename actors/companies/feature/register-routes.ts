/** The register described: its sources with their health, and the schema of its records. */
import { type TSchema, Type } from "typebox";
import { json } from "../../../gateway/http-errors.ts";
import { type Route, route } from "../../../gateway/route.ts";
import { Nullable, Timestamp } from "../../../schemas/common.ts";
import { COMPANY_JSON_SCHEMA } from "../../../schemas/company-record.ts";
import { MAX_AGE_S } from "../freshness.ts";
import type { HealthBook } from "../source-health.ts";
import type { Source } from "../source.ts";

interface RegisterRouteDeps {
  readonly sources: readonly Source[];
  readonly health: HealthBook;
}

export const CanaryView = Type.Object({ at: Timestamp, problem: Nullable(Type.String()) });

export const SourceView: TSchema = Type.Object({
  name: Type.String(),
  title: Type.String(),
  active: Type.Boolean(),
  inactive_because: Nullable(Type.String()),
  countries: Type.Array(Type.String()),
  schemes: Type.Object({ lookup: Type.Array(Type.String()), yields: Type.Array(Type.String()) }),
  capabilities: Type.Array(Type.String()),
  /** By field group. */
  groups: Type.Record(
    Type.String(),
    Type.Object({ precedence: Type.Integer(), freshness: Type.String(), max_age_s: Type.Integer() }),
  ),
  licence: Type.Object({
    id: Type.String(),
    url: Type.String(),
    attribution: Nullable(Type.String()),
    redistribution: Type.Enum(["open", "display", "internal"]),
  }),
  terms_url: Nullable(Type.String()),
  parser_version: Type.String(),
  health: Type.Object({
    state: Type.Enum(["operational", "degraded", "partial", "major"]),
    success_rate: Nullable(Type.Number()),
    requests: Type.Integer(),
    last_success_at: Nullable(Timestamp),
    last_error: Nullable(Type.String()),
    last_error_at: Nullable(Timestamp),
    canary: Nullable(CanaryView),
    drift: Type.Array(Type.String()),
  }),
});

export function registerRoutes({ sources, health }: RegisterRouteDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/companies/sources",
      operationId: "listCompanySources",
      summary: "The sources of the register, their licences and how they are",
      tags: ["companies"],
      replies: {
        200: { description: "The sources", schema: Type.Object({ sources: Type.Array(SourceView) }) },
      },
      handle: async () => {
        const states = await health.read(sources.map(({ description }) => description.name));
        return json(200, {
          sources: sources.map(({ description, inactive_because }) => ({
            name: description.name,
            title: description.title,
            active: inactive_because === null,
            inactive_because,
            countries: description.countries,
            schemes: description.schemes,
            capabilities: description.capabilities,
            groups: Object.fromEntries(
              Object.entries(description.groups).map(([group, { precedence, freshness }]) => [
                group,
                { precedence, freshness, max_age_s: MAX_AGE_S[freshness] },
              ]),
            ),
            licence: description.licence,
            terms_url: description.terms_url,
            parser_version: description.parser_version,
            health: states.get(description.name),
          })),
        });
      },
    }),
    route({
      method: "GET",
      path: "/v1/schemas/company",
      operationId: "getCompanySchema",
      summary: "The JSON Schema of a company record",
      description:
        "JSON Schema 2020-12 of company/v1, with the identifier schemes in `x-identifier-schemes`.",
      tags: ["companies"],
      replies: { 200: { description: "The schema", schema: Type.Record(Type.String(), Type.Unknown()) } },
      handle: () => SCHEMA,
    }),
  ];
}

const SCHEMA = json(200, COMPANY_JSON_SCHEMA);
