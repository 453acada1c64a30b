/** The API document of clients, as a node of this checkout serves it. */
import type { ApiDocument } from "./api-model.ts";
import { withOwnNode } from "./own-node.ts";

export const apiDocument = (): Promise<ApiDocument> =>
  withOwnNode({}, async (address) => {
    const answer = await fetch(new URL("/openapi.json", address));
    return (await answer.json()) as ApiDocument;
  });
