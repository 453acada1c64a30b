/** Searches as items of a batch job: how a worker runs one, how the gateway takes and shows it. */
import type { ActorClient } from "../../../../cluster/actor.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import type { SearchAnswer, SearchItem, SearchRequest } from "../../../../schemas/search.ts";
import { billOf, searchBatch, searchRequestOf } from "./routes.ts";

export const searchItems = (
  search: (request: SearchRequest, client: ActorClient) => Promise<SearchAnswer>,
): ItemKindParts => ({
  worker: {
    name: "search",
    lane: () => null,
    async run(ask, input, { attempt_id, project, key }) {
      const request = searchRequestOf(input as SearchItem, { search_id: attempt_id, project, key });
      const answer = await search(request, ask);
      const { error } = answer;
      // A budget does not come back in minutes.
      const isFinal = error === null || error === "budget_exhausted";
      return {
        answer,
        error,
        bill: billOf(answer),
        body_refs: [],
        retry: isFinal ? null : { reason: "transient", retry_after_s: null },
      };
    },
  },
  gateway: searchBatch,
  route: {
    path: "/v1/batch/search",
    operationId: "batchSearch",
    summary: "Run many searches as a job",
    tag: "search",
  },
});
