/** Routes of the register for the operator alone: see its index, merge companies and undo it, remove a person, ask sources for their canaries. */
import { Type } from "typebox";
import type { Node } from "../../../../cluster/node-record.ts";
import { invalid, json } from "../../../../gateway/http-errors.ts";
import { type Route, route } from "../../../../gateway/route.ts";
import { Component, Field, Nullable } from "../../../../schemas/common.ts";
import { Company, COMPANY_ID, CompanySource, SourceCheck } from "../../../../schemas/companies.ts";
import type { PeopleStore } from "../people.ts";
import { type CompanyIndex, INDEX_LAYOUT } from "../search-index.ts";
import type { Source } from "../source.ts";

const Survivor = Component("MergeCompaniesResponse", {
  survivor: Field(
    Nullable(Type.String()),
    "The company that the other one is part of; null: nothing was merged",
    "cmp_0123456789abcdef",
  ),
});

const MERGE_TIMEOUT_MS = 20_000;
/** A source may take 20 s for each of its canaries. */
const CHECK_TIMEOUT_MS = 90_000;

const CompanyId = Type.String({ pattern: COMPANY_ID });

const IndexAnswer = Component("CompanyIndexState", {
  companies: Field(Type.Integer(), "Companies that search and resolve find", 812_000),
  state: Field(
    Type.Enum(["complete", "building"]),
    "`building`: it is being made from the stored companies, and finds those that are in it already",
  ),
  through: Field(
    Nullable(Type.String()),
    "While it is being made: the last company that is in it; companies are taken in the order of their ids",
    "cmp_9m2v7f3k5q8r1t4w",
  ),
});

export function operatorRoutes({
  sources,
  people,
  index,
  ask,
}: Pick<Node, "ask"> & {
  readonly index: Pick<CompanyIndex, "count" | "readState">;
  readonly sources: readonly Source[];
  readonly people: PeopleStore;
}): readonly Route[] {
  const names = sources.map(({ description }) => description.name);
  return [
    indexRoute(index),
    route({
      method: "POST",
      path: "/v1/ops/companies/merges",
      operationId: "mergeCompanies",
      summary: "Merges a company into another, whatever their identifiers; for the operator",
      tags: ["internal"],
      body: Type.Object({
        company_id: Field(CompanyId, "The company that is merged", "cmp_wyvsfbx2x89mpyyv"),
        into: Field(CompanyId, "The company that remains", "cmp_0123456789abcdef"),
      }),
      body_example: { company_id: "cmp_wyvsfbx2x89mpyyv", into: "cmp_0123456789abcdef" },
      replies: {
        200: {
          description: "The company that remains; null: one of them does not exist, or they are one already",
          schema: Survivor,
        },
      },
      handle: async ({ body: { company_id, into } }) => {
        const options = { timeout_ms: MERGE_TIMEOUT_MS };
        return json(200, await ask(Company, company_id, "mergeByOperator", { survivor: into }, options));
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/ops/companies/merges/{company_id}",
      operationId: "splitCompany",
      summary:
        "Undoes the merge of a company, which is then never merged into the other again; for the operator",
      tags: ["internal"],
      params: Type.Object({
        company_id: Field(
          Type.String({ pattern: COMPANY_ID }),
          "The company that was merged into another",
          "cmp_wyvsfbx2x89mpyyv",
        ),
      }),
      replies: {
        200: {
          description: "The company that it was merged into; null: it was not merged",
          schema: Survivor,
        },
      },
      handle: async ({ params }) => {
        return json(
          200,
          await ask(Company, params.company_id, "split", null, { timeout_ms: MERGE_TIMEOUT_MS }),
        );
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/ops/companies/people/{name}",
      operationId: "removePerson",
      summary: "Removes every claim about a person, and does not store new ones; for the operator",
      tags: ["internal"],
      params: Type.Object({
        name: Field(
          Type.String({ minLength: 3, maxLength: 200 }),
          "The full name of the person",
          "Erika Beispiel",
        ),
      }),
      replies: {
        200: {
          description: "What was removed",
          schema: Type.Object({
            companies: Field(Type.Integer(), "Companies that had claims about the person", 2),
            claims: Field(Type.Integer(), "Claims that were removed", 7),
          }),
        },
      },
      handle: async ({ params }) => {
        if (params.name.trim().length < 3)
          return invalid([
            { loc: ["path", "name"], msg: "Input should be a full name", type: "value_error" },
          ]);
        return json(200, await people.remove(params.name));
      },
    }),
    route({
      method: "POST",
      path: "/v1/ops/companies/sources/check",
      operationId: "checkCompanySources",
      summary: "Asks sources for the companies that they must know, now; for the operator",
      tags: ["internal"],
      body: Type.Object({
        sources: Type.Optional(
          Field(
            Nullable(
              Type.Array(Type.String({ maxLength: 32 }), { maxItems: 50, description: "Default: all" }),
            ),
            null,
            ["gleif"],
          ),
        ),
      }),
      body_example: { sources: ["gleif"] },
      replies: {
        200: {
          description: "What each source answered",
          schema: Type.Object({ checks: Field(Type.Array(SourceCheck), "One for each source") }),
        },
      },
      handle: async ({ body }) => {
        const unknown = (body.sources ?? []).findIndex((name) => !names.includes(name));
        if (unknown >= 0)
          return invalid([
            {
              loc: ["body", "sources", unknown],
              msg: `Input should be of: ${names.join(", ")}`,
              type: "enum",
            },
          ]);
        const wanted = body.sources ?? names;
        const options = { timeout_ms: CHECK_TIMEOUT_MS };
        const checks = await Promise.all(
          [...new Set(wanted)].map((name) => ask(CompanySource, name, "check", null, options)),
        );
        return json(200, { checks });
      },
    }),
  ];
}

const indexRoute = (index: Pick<CompanyIndex, "count" | "readState">): Route =>
  route({
    method: "GET",
    path: "/v1/ops/companies/index",
    operationId: "getCompanyIndex",
    summary: "The index that search and resolve read, and whether it is complete; for the operator",
    tags: ["internal"],
    replies: {
      200: { description: "How many companies are in it, and how far it was made", schema: IndexAnswer },
    },
    handle: async () => {
      const [companies, made] = await Promise.all([index.count(), index.readState()]);
      const isComplete = made?.layout === INDEX_LAYOUT && made.through === null;
      return json(200, {
        companies,
        state: isComplete ? "complete" : "building",
        through: made?.layout === INDEX_LAYOUT ? made.through || null : null,
      });
    },
  });
