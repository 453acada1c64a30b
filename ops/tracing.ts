/** Opens tracing where a collector is configured. Without one nothing of OpenTelemetry is loaded. */
import type { Log } from "../cluster/ports/log.ts";
import type { Tracing } from "../cluster/ports/tracing.ts";
import type { Config } from "./config.ts";

export async function openTracing(
  { tracing }: Pick<Config, "tracing">,
  version: string,
  log: Log,
): Promise<Tracing | undefined> {
  const { endpoint, service_name, sampled_share } = tracing;
  if (endpoint === undefined) return undefined;
  const { otelTracing } = await import("../cluster/adapters/telemetry/tracing.otel.ts");
  return otelTracing({ endpoint, service_name, version, sampled_share: Number(sampled_share), log });
}
