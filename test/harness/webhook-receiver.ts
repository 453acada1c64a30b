/** A client's https endpoint for webhooks, with the certificate of test/fixtures/egress: it keeps what it receives. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface Delivery {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface WebhookReceiver {
  readonly port: number;
  readonly received: readonly Delivery[];
  readonly close: () => void;
}

/** The certificate of the receiver, as TRAWL_CA_FILE takes it. */
export const RECEIVER_CERTIFICATE = certificate("site.cert.pem");

function certificate(name: string): string {
  return new URL(`../fixtures/egress/${name}`, import.meta.url).pathname;
}

/** `answer` chooses the status of each delivery; default: 204. */
export async function webhookReceiver(
  answer: (delivery: Delivery, number: number) => number = () => 204,
): Promise<WebhookReceiver> {
  const received: Delivery[] = [];
  const identity = {
    key: readFileSync(certificate("site.key.pem")),
    cert: readFileSync(RECEIVER_CERTIFICATE),
  };
  const server = createServer(identity, (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const delivery = { headers: request.headers, body: Buffer.concat(pieces).toString() };
      received.push(delivery);
      response.writeHead(answer(delivery, received.length)).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, received, close: () => void server.close() };
}
