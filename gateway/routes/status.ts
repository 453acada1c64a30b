/**
 * /health, /ready and /metrics: whether the process is up, whether it can work, and what it counts. The public status of the
 * service (/v1/status) is the slice actors/business/status/.
 */
import { type Static, Type } from "typebox";
import type { ByteBudget } from "../../cluster/byte-budget.ts";
import type { Clock } from "../../cluster/ports/clock.ts";
import { type Check, CHECK_STATES, pingAll } from "../checks.ts";
import { json, NOT_FOUND } from "../http-errors.ts";
import type { Head } from "../http.ts";
import { openRoute, type Route } from "../route.ts";

export interface StatusRoutesDeps {
  readonly checks: Readonly<Record<string, Check>>;
  /** True once the process has begun to stop. */
  readonly draining: () => boolean;
  readonly version: string;
  /** Which server carries the API, as a sentence. */
  readonly http_server: string;
  readonly clock: Clock;
  /** Default: there is no cluster whose clock this node's could differ from. */
  readonly clock_skew_ms?: () => number | null;
  /** Changes that an operator should make although everything works. Default: none. */
  readonly warnings?: () => readonly string[];
  /** The memory for bodies. Default: it is not shown. */
  readonly memory?: Pick<ByteBudget, "figures">;
  /** The answer of /metrics; left out, there is no such page. */
  readonly metrics?: MetricsPage;
  /** Default: `allowed`. */
  readonly metrics_readers?: MetricsReaders;
}

/** `allowed`: this machine and `isAllowed`. */
export type MetricsReaders = "all" | "allowed" | "none";

export interface MetricsPage {
  readonly content_type: string;
  readonly render: () => Promise<string>;
  /** Addresses of other machines that may read it. Default: none. */
  readonly isAllowed?: (address: string) => boolean;
}

/** How long a dependency may take to answer, and how long its answer is cached. */
const PING_WAIT_MS = 1_000;
const REMEMBER_MS = 1_000;

export const Health = Type.Object({ status: Type.Literal("ok") });

export const NodeMemory = Type.Object({
  limit_bytes: Type.Integer(),
  reserved_bytes: Type.Integer(),
  waiting: Type.Integer({ description: "Reservations that wait for room" }),
});

export const Ready = Type.Object({
  status: Type.Enum(["ready", "not_ready"]),
  /** By dependency; of a store that refuses writes, why. `not_configured`: the service works without it. */
  checks: Type.Record(Type.String(), Type.Enum([...CHECK_STATES])),
  /** How far this node's clock is ahead of the cluster's, in milliseconds; absent: not measured, or there is no other node. */
  clock_skew_ms: Type.Optional(Type.Integer()),
  /** The memory for bodies on this node. */
  memory: Type.Optional(NodeMemory),
  warnings: Type.Optional(Type.Array(Type.String())),
  version: Type.String(),
  http_server: Type.String(),
});
type Ready = Static<typeof Ready>;

export function statusRoutes({
  checks,
  draining,
  version,
  http_server,
  clock,
  clock_skew_ms = () => null,
  warnings = () => [],
  memory,
  metrics,
  metrics_readers = "allowed",
}: StatusRoutesDeps): readonly Route[] {
  let pinged_ms = -Infinity;
  let pings: Promise<Ready["checks"]> = Promise.resolve({});

  async function ready(): Promise<Ready> {
    if (clock.mono() - pinged_ms >= REMEMBER_MS) {
      pinged_ms = clock.mono();
      pings = pingAll(checks, clock, PING_WAIT_MS);
    }
    const results = await pings;
    const missing = Object.entries(checks).some(
      ([name, { gates, ping }]) => gates && ping !== null && results[name] !== "ok",
    );
    const status = missing || draining() ? "not_ready" : "ready";
    const skew_ms = clock_skew_ms();
    const warned = warnings();
    return {
      status,
      checks: results,
      ...(skew_ms !== null && { clock_skew_ms: skew_ms }),
      ...(memory && { memory: memory.figures() }),
      ...(warned.length > 0 && { warnings: [...warned] }),
      version,
      http_server,
    };
  }

  const health = json(200, { status: "ok" });
  const routes: Route[] = [
    openRoute({
      method: "GET",
      path: "/health",
      operationId: "health",
      summary: "Whether the process is up",
      tags: ["status"],
      replies: { 200: { description: "The process is up", schema: Health } },
      handle: () => health,
    }),
    openRoute({
      method: "GET",
      path: "/ready",
      operationId: "ready",
      summary: "Whether the service can work",
      tags: ["status"],
      replies: {
        200: { description: "Every dependency that the service needs answers", schema: Ready },
        503: {
          description: "A dependency that the service needs does not answer, or the process is stopping",
          schema: Ready,
        },
      },
      handle: async () => {
        const readiness = await ready();
        return json(readiness.status === "ready" ? 200 : 503, readiness);
      },
    }),
  ];
  if (metrics) routes.push(metricsRoute(metrics, metrics_readers));
  return routes;
}

export function metricsRoute(
  { content_type, render, isAllowed }: MetricsPage,
  readers: MetricsReaders,
): Route {
  const isReader = ({ headers, address }: Head): boolean => {
    if (readers !== "allowed") return readers === "all";
    // A proxy forwards requests of other machines: its own address says nothing.
    if (headers.has("x-forwarded-for") || headers.has("forwarded")) return false;
    const peer = address();
    return isAllowed?.(peer) === true || (isLoopback(peer) && isLocalHost(headers.get("host")));
  };
  return openRoute({
    method: "GET",
    path: "/metrics",
    operationId: "metrics",
    audience: "operators",
    summary:
      "Metrics of this process for Prometheus; answered to this machine and to the networks of TRAWL_METRICS_ALLOW, on a node's status port only once the API is published",
    tags: ["status"],
    replies: {
      200: { description: "Prometheus text format", content_type: "text/plain", schema: Type.String() },
      404: {
        description: "The request came from a machine that may not read them",
        schema: Type.Object({ detail: Type.String() }),
      },
    },
    handle: async ({ head }) => {
      if (!isReader(head)) return NOT_FOUND;
      const text = await render();
      return { status: 200, headers: { "Content-Type": content_type }, body: Buffer.from(text) };
    },
  });
}

/** Whether a program of this machine asks, by this machine's name, without a proxy between. */
export const isOfThisMachine = ({ headers, address }: Head): boolean =>
  !headers.has("x-forwarded-for") &&
  !headers.has("forwarded") &&
  isLoopback(address()) &&
  isLocalHost(headers.get("host"));

const isLoopback = (address: string): boolean =>
  /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1";

/** Whether a server that listens there is reached from this machine only. */
export const isLoopbackHost = (host: string): boolean => isLoopback(host) || host === "localhost";

/**
 * Whether a Host field names this machine. A web page may point a name of its own at 127.0.0.1 (DNS rebinding) and read what
 * a browser on this machine gets there; its requests carry that name.
 */
const isLocalHost = (host: string | undefined): boolean =>
  host === undefined || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/i.test(host);
