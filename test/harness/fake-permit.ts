/** A request to a route as the pipeline makes it; every permit that is granted and released is recorded. */
import type {
  OriginAnswer,
  HopRefusal,
  Transport,
  TransportRequest,
} from "../../actors/lib/web/transport.ts";
import { admission, transportRequest } from "./transport-request.ts";

export interface PermitLog {
  /** Addresses a permit was asked for, in order. */
  readonly admitted: readonly string[];
  readonly released: readonly OriginAnswer[];
  readonly go: (transport: Transport, url: string, more?: Partial<TransportRequest>) => ReturnType<Transport>;
}

/** `refuse` names what may not be entered. */
export function permitLog(refuse: (url: string) => HopRefusal | null = () => null): PermitLog {
  const admitted: string[] = [];
  const released: OriginAnswer[] = [];
  return {
    admitted,
    released,
    go: (transport, url, more = {}) =>
      transport(
        transportRequest(url, {
          max_bytes: 2 ** 20,
          signal: AbortSignal.timeout(10_000),
          admit: async (hop) => {
            admitted.push(hop);
            const refusal = refuse(hop);
            return refusal ? { kind: "refused", refusal } : admission((answer) => void released.push(answer));
          },
          ...more,
        }),
      ),
  };
}
