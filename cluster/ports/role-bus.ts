/**
 * Plain messages between the nodes of a cluster, for calls to actors that are placed by role. At most once and nothing is
 * stored: who waits for something asks for a sign of life (cluster/internal/roles/role-calls.ts).
 *
 * Messages are at most MAX_ENVELOPE_BYTES and MAX_ENVELOPE_OVERHEAD_BYTES; a larger one throws Fault message_too_large.
 */
export interface RoleBusEvents {
  /** Takes an announcement of a node to all nodes, this one too. */
  readonly onAnnouncement: (body: string) => void;
  /** Takes a message of another node to this one, in the order in which that node sent them. */
  readonly onMessage: (body: string) => void;
  /** Answers another node at once. */
  readonly onRequest: (body: string) => string;
}

export type RoleBusReply =
  | { readonly kind: "answered"; readonly body: string }
  /** No node of that name is connected. */
  | { readonly kind: "gone" }
  /** There was no answer within REQUEST_TIMEOUT_MS. */
  | { readonly kind: "silent" };

export const REQUEST_TIMEOUT_MS = 2_000;

export interface RoleBus {
  /** From now on this node is reached under its name. Throws Fault bus_unreachable. */
  join(node: string, events: RoleBusEvents): Promise<void>;
  announce(body: string): void;
  send(to: string, body: string): void;
  /** The node's answer comes after everything it sent before. Throws Fault bus_unreachable. */
  request(to: string, body: string): Promise<RoleBusReply>;
  close(): Promise<void>;
}
