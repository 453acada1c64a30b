/**
 * Messages between nodes on plain NATS: `<cluster>.r.all` to all nodes, `<cluster>.r.to.<node>` to one of them,
 * `<cluster>.r.ask.<node>` for what it answers at once. NATS says itself that a node is not connected: its subject has no
 * subscriber.
 */
import { RequestError, TimeoutError } from "nats";
import type { Log } from "../../ports/log.ts";
import { REQUEST_TIMEOUT_MS, type RoleBus } from "../../ports/role-bus.ts";
import { hasNoResponder, linkNats, orUnreachable } from "../bus/connection.nats.ts";

export async function natsRoleBus(address: string, log?: Log): Promise<RoleBus> {
  const link = await linkNats(address, { purpose: "roles", ...(log && { log }) });
  const { nc, name: cluster } = link;

  /** At most once: what cannot be sent is lost. */
  function publish(subject: string, body: string): void {
    if (!nc.isClosed()) nc.publish(subject, body);
  }

  return {
    join: (node, { onAnnouncement, onMessage, onRequest }) =>
      orUnreachable(link, "join the nodes with roles", async () => {
        nc.subscribe(`${cluster}.r.all`, {
          callback: (problem, message) => void (problem ?? onAnnouncement(message.string())),
        });
        nc.subscribe(`${cluster}.r.to.${node}`, {
          callback: (problem, message) => void (problem ?? onMessage(message.string())),
        });
        nc.subscribe(`${cluster}.r.ask.${node}`, {
          callback: (problem, message) => void (problem ?? message.respond(onRequest(message.string()))),
        });
        await nc.flush();
      }),
    announce: (body) => publish(`${cluster}.r.all`, body),
    send: (to, body) => publish(`${cluster}.r.to.${to}`, body),
    request: (to, body) =>
      orUnreachable(link, `ask the node "${to}"`, async () => {
        try {
          const reply = await nc.request(`${cluster}.r.ask.${to}`, body, { timeout: REQUEST_TIMEOUT_MS });
          return { kind: "answered", body: reply.string() };
        } catch (problem) {
          if (hasNoResponder(problem)) return { kind: "gone" };
          if (isTimeout(problem)) return { kind: "silent" };
          throw problem;
        }
      }),
    close: () => link.close(),
  };
}

const isTimeout = (problem: unknown): boolean =>
  problem instanceof TimeoutError ||
  (problem instanceof RequestError && problem.cause instanceof TimeoutError);
