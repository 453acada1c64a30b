/** Where the service and its engines listen, by the settings. These endpoints are never a destination of a fetch. */
import type { Endpoint } from "../actors/lib/web/destination.ts";
import type { NodeConfig } from "../node/node-settings.ts";

export function ownEndpoints({ gateway, cluster, storage }: NodeConfig): readonly Endpoint[] {
  const { host, port } = gateway;
  const engines = [cluster.bus, storage.documents, storage.s3_endpoint ?? ""].flatMap((address) =>
    address.includes("://")
      ? address
          .replace(/^\w+:\/\/([^/@]*@)?/, "")
          .replace(/[/?].*$/, "")
          .split(",")
          .map((place) => endpointOf(place))
      : [],
  );
  const own = { host, port };
  return [own, { host, port: cluster.status_port }, ...engines.filter((endpoint) => endpoint !== null)];
}

type Listening = Pick<NodeConfig["gateway"], "host" | "port"> & { readonly tls_cert?: string | undefined };

/** The address of the API as its settings have it, without a slash at its end. */
export function ownUrl({ host, port, tls_cert }: Listening): string {
  const name = host.includes(":") ? `[${host}]` : host;
  return `http${tls_cert === undefined ? "" : "s"}://${name}:${port}`;
}

function endpointOf(place: string): Endpoint | null {
  const url = URL.parse(`http://${place}`);
  return url && url.port !== "" ? { host: url.hostname, port: Number(url.port) } : null;
}
