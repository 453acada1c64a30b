/**
 * The operator's look at all nodes, and the log level of all nodes: GET /v1/ops/nodes, POST /v1/ops/log-level. Their clients are `trawl top`,
 * `domains`, `jobs` and `log-level`. Not a part of the public API.
 */
import type { NodeReport } from "../../cluster/ports/node-directory.ts";
import type { LogLevel } from "../../cluster/ports/log.ts";
import { json } from "../http-errors.ts";
import { type Route, route } from "../route.ts";
import { LogLevelChange, LogLevelChanged, NodeReports } from "../../schemas/operator.ts";

export interface OperatorRoutesDeps {
  /** The reports of all nodes; of a single process its own. Throws Fault. */
  readonly reports: () => Promise<readonly NodeReport[]>;
  /** Partitions of the cluster; 0: a single process. */
  readonly partitions: number;
  /** Answers the names of the nodes that set it. Throws Fault. */
  readonly setLogLevel: (level: LogLevel) => Promise<readonly string[]>;
}

export function operatorRoutes({ reports, partitions, setLogLevel }: OperatorRoutesDeps): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/ops/nodes",
      operationId: "listNodes",
      summary: "What each node reports: versions, tiers, partitions, domains and jobs",
      tags: ["internal"],
      replies: { 200: { description: "The reports of all nodes", schema: NodeReports } },
      handle: async () => json(200, { nodes: await reports(), partitions }),
    }),
    route({
      method: "POST",
      path: "/v1/ops/log-level",
      operationId: "setLogLevel",
      summary: "Sets the log level of all nodes until they end",
      tags: ["internal"],
      body: LogLevelChange,
      body_example: { level: "info" },
      replies: { 200: { description: "The nodes that have set it", schema: LogLevelChanged } },
      handle: async ({ body: { level } }) => json(200, { level, nodes: await setLogLevel(level) }),
    }),
  ];
}
