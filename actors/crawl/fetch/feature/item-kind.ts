/** Fetches as items of a batch job: how a worker runs one, how the gateway takes and shows it. */
import type { Node } from "../../../../cluster/node-record.ts";
import type { BatchKind } from "../../../../gateway/batch.ts";
import type { BodyGrants } from "../../../../gateway/body-access.ts";
import type { ArchiveKeeper } from "../../archive/keep.ts";
import type { ItemKindParts } from "../../../work/jobs/feature/tokens.ts";
import { type FetchBody, type FetchRequest, partDigests } from "../../../../schemas/fetch.ts";
import { isSentOnce } from "../../../../schemas/own-request.ts";
import { type JoinedSites, originOf, parseUrl, siteOf } from "../../../lib/web/url.ts";
import { retryForFetch } from "../retry-policy.ts";
import { MAX_RUN_MS } from "../run.ts";
import type { FetchService } from "../service.ts";
import { billOf } from "../answer.ts";
import { fetchRequestOf, grantBodies } from "./routes.ts";
import { isPremium } from "../../../../schemas/tier-table.ts";

/** Links stand in the formats of a page where a caller chooses what of it is read, and where an archive of it has them. */
const hasFormats = ({ with_formats = false, reading, archive = false }: FetchRequest): boolean =>
  with_formats || reading !== undefined || archive;

export const fetchItems = (
  {
    fetchWith,
    bodyGrants,
    archives,
    clock,
    joined,
  }: Pick<Node, "clock"> & {
    readonly fetchWith: FetchService["fetchWith"];
    readonly bodyGrants: BodyGrants;
    readonly archives: Pick<ArchiveKeeper, "index">;
    readonly joined: JoinedSites;
  },
  gateway: BatchKind,
): ItemKindParts => ({
  worker: {
    name: "fetch",
    lane({ url }) {
      const parsed = parseUrl(String(url));
      return parsed && { site: siteOf(parsed.hostname, joined), origin: originOf(parsed) };
    },
    async run(ask, input, { attempt_id, project, key, may_pay, attempts, scope, with_followed, signal }) {
      const asked = fetchRequestOf(input as FetchBody, {
        fetch_id: attempt_id,
        project,
        key,
        lane: "batch",
        now_ms: clock.now(),
        wait_ms: MAX_RUN_MS,
      });
      const request = {
        ...asked,
        ...(scope && { scope }),
        ...(with_followed && { with_followed, ...(hasFormats(asked) && { with_formats: true }) }),
      };
      // An item that wants only premium routes need not be blocked on other routes first.
      const premium_later = !may_pay && request.allow_paid && !(request.tiers ?? ["direct"]).every(isPremium);
      const is_post = request.own_request !== undefined && isSentOnce(request.own_request.given);
      const attempt = premium_later ? { ...request, allow_paid: false, premium_later } : request;
      const fetched = await fetchWith(ask, attempt, signal);
      await grantBodies(bodyGrants, project, fetched);
      const { granted: _, ...answer } = fetched;
      await archives.index(project, answer.record);
      return {
        answer,
        error: answer.error,
        bill: billOf(answer),
        body_refs: partDigests(answer.record),
        retry: retryForFetch(answer, { attempts, premium_later, is_post }),
      };
    },
  },
  gateway,
  route: {
    path: "/v1/batch/fetch",
    operationId: "batchFetch",
    summary: "Fetch many pages as a job",
    tag: "fetch",
  },
});
