/** An OpenAI-compatible server on loopback that answers as a test scripts it, one answer for each request. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ModelRequest {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: {
    readonly model: string;
    readonly max_tokens: number;
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly response_format: {
      readonly type: "json_schema" | "json_object";
      readonly json_schema: { readonly schema: object };
    };
  };
}

/** Answer of the model to a request: a completion's content, or a whole response of the server. */
export type Say = (request: ModelRequest, response: ServerResponse) => string | object | null;

export async function modelServer() {
  const requests: ModelRequest[] = [];
  /** For the list of models. */
  const models = { status: 200, names: ["small"] as readonly string[] };
  /** The Authorization field of each request for it. */
  const listed: (string | undefined)[] = [];
  let script: Say = () => "{}";
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    if (request.method === "GET") {
      listed.push(request.headers.authorization);
      const list = { object: "list", data: models.names.map((id) => ({ id, object: "model" })) };
      response.writeHead(models.status, { "content-type": "application/json" }).end(JSON.stringify(list));
      return;
    }
    const body = JSON.parse(Buffer.concat(pieces).toString()) as ModelRequest["body"];
    const asked = { path: request.url!, authorization: request.headers.authorization, body };
    requests.push(asked);
    const said = script(asked, response);
    if (said === null) return;
    const completion = typeof said === "string" ? saying(said) : said;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(completion));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    models,
    listed,
    says(next: Say) {
      requests.length = 0;
      script = next;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export const saying = (content: string, more: object = {}, usage: object | null = USAGE): object => ({
  choices: [{ message: { role: "assistant", content }, finish_reason: "stop", ...more }],
  ...(usage && { usage }),
});

export const USAGE = { prompt_tokens: 1_000, completion_tokens: 100 };
