/**
 * The route `browser`: a page as it stands after its scripts have run, or the bytes of a file.
 *
 * Each document of the main frame needs a permit, as any request to an origin does, including redirect hops and
 * navigations by scripts; the last document's slot is held until the page is done. Subresources take no slots: they go
 * through the egress proxy, without the kinds that never contribute to the answer (images and fonts do to a screenshot and an archive),
 * and up to a maximum number.
 *
 * A page is done when it is worth reading (page-rendering.ts), or when the time for that is over. Nothing is kept: context,
 * cookies and caches end with the request. Dialogs are dismissed, other windows closed, service workers and downloads
 * blocked. browser-pool.ts opens the pages, page-visit.ts is one of them from its first request to its result.
 */
import type { Clock } from "../../../../cluster/ports/clock.ts";
import type { Blobs } from "../../../../cluster/ports/blobs.ts";
import type { Destination } from "../../../lib/web/destination.ts";
import type { Transport, TransportResult, TransportRequest } from "../../../lib/web/transport.ts";
import { nothingOwn, type OpenOwnRequest, ownHops } from "../../../lib/web/own-request.ts";
import { NO_JARS, type SessionJar, type SessionJars } from "../../../lib/web/session-jar.ts";
import { type HideSecrets, hiderOf, noSecrets, type OpenSecrets } from "../../../lib/web/session-secrets.ts";
import { secretNames } from "../../../../schemas/actions.ts";
import { parseUrl } from "../../../lib/web/url.ts";
import type { BrowserPool, PageLease } from "./browser-pool.ts";
import { admitted, destinationRefusal } from "./one-request.ts";
import { ownDocuments } from "./own-documents.ts";
import { pageExchanges } from "./page-exchanges.ts";
import { languagesOf } from "./page-fields.ts";
import { hopOf, requestSpacing } from "./page-permit.ts";
import { renderPage } from "./page-rendering.ts";
import { prepareVisit } from "./page-requests.ts";
import { putStorage, readStorage } from "./page-storage.ts";
import { LIMITS, openVisit, type PageLimits, type PageVisit } from "./page-visit.ts";
import { screenshots } from "./screenshot.ts";

export interface BrowserOptions {
  readonly pool: BrowserPool;
  readonly clock: Clock;
  /** Refuses early what the egress proxy would refuse anyway, without asking for robots.txt and a slot. */
  readonly destination: Destination;
  readonly limits?: Partial<PageLimits>;
  /** Default: requests have no part of their caller's own. */
  readonly openOwn?: OpenOwnRequest;
  /** Where bodies of archived exchanges go. */
  readonly blobs: Pick<Blobs, "put">;
  /** Default: requests have no sessions. */
  readonly jars?: SessionJars;
  /** Default: sessions have no secrets. */
  readonly openSecrets?: OpenSecrets;
}

export function browserTransport({
  pool,
  clock,
  destination,
  limits: overrides,
  openOwn = nothingOwn,
  blobs,
  jars = NO_JARS,
  openSecrets = noSecrets,
}: BrowserOptions): Transport {
  const limits: PageLimits = { ...LIMITS, ...overrides };
  const spacing = requestSpacing(clock);
  const pictures = screenshots();

  /** Tries once. `is_bystander`: it ended for what may be another page's doing. */
  async function visitOnce(
    asked: TransportRequest,
    is_alone: boolean,
  ): Promise<{ readonly result: TransportResult; readonly is_bystander: boolean }> {
    const given = openOwn(asked);
    const steps = given?.actions ?? [];
    const secrets = openSecrets(asked, secretNames(steps));
    const hide = hiderOf(secrets.values());
    // A form may put what was typed into the address that it leads to.
    const request = {
      ...asked,
      admit: (...[url, how]: Parameters<typeof asked.admit>) => asked.admit(hide(url), how),
    };
    const jar = jars.open(request);
    const over = (result: TransportResult) => ({ result, is_bystander: false });
    const began_ms = clock.mono();
    const first = parseUrl(request.url)?.href ?? request.url;
    const bare = () => ({ redirects: [], final_url: null, ms: Math.round(clock.mono() - began_ms) });
    const judged = destination.url(first, request.networks);
    if (judged === "blocked_destination" || judged === "invalid_url") {
      return over({ kind: "refused", refusal: destinationRefusal(judged, first), ...bare() });
    }
    // Before opening a page: a request that waits for a busy domain must not occupy a slot of the pool.
    const entry = await admitted(request, first);
    if (entry === null) {
      const detail = "The deadline passed before the page could be requested";
      return over({ kind: "failed", reason: "timeout", status: null, detail, ...bare() });
    }
    if (entry.kind === "refused") return over({ kind: "refused", refusal: entry.refusal, ...bare() });
    const hop = hopOf(first, entry, clock);
    const languages = languagesOf(request.accept_language);
    const lease = await pool.lease(
      {
        locale: languages[0] ?? "en-US",
        ...windowOf(request.view),
        ...(request.user_agent !== null && { userAgent: request.user_agent }),
      },
      request.signal,
      { networks: request.networks, is_alone, is_mobile: request.view?.device === "mobile" },
    );
    if (lease.kind === "failed") {
      hop.release();
      const { reason, detail, is_bystander } = lease;
      return { result: { kind: "failed", reason, status: null, detail, ...bare() }, is_bystander };
    }
    if (jar !== null) await putJar(lease, jar);
    const own = ownDocuments(lease.context, given, ownHops(given, first), first);
    const shared = { clock, destination, limits, spacing, pictures, steps, secrets };
    const exchanges = request.archive
      ? pageExchanges(lease.cdp, { blobs, clock, own: given, has_session: jar !== null, hide })
      : null;
    const visit = openVisit({ request, own, lease, began_ms, exchanges, ...shared }, hop);
    try {
      const result = await resultOf(visit);
      const archived = exchanges && { exchanges: await exchanges.finish() };
      if (jar !== null) await readJar(lease, jar);
      return {
        result: { ...withoutSecrets({ ...result, ...archived }, hide), ...jars.result(request, jar) },
        is_bystander: visit.isBystander(),
      };
    } finally {
      visit.close();
      // The answer does not wait for the page to close.
      void lease.release();
    }
  }

  return async (request) => {
    const { result, is_bystander } = await visitOnce(request, false);
    const mayRepeat = is_bystander && request.own?.is_post !== true;
    // In a browser of its own: beside the page that did it, it would happen again.
    return mayRepeat && !request.signal.aborted ? (await visitOnce(request, true)).result : result;
  };
}

/** Pictures and PDFs are as they are: what a page shows of a secret elsewhere than in its field, they show. */
function withoutSecrets(result: TransportResult, hide: HideSecrets): TransportResult {
  if (result.kind !== "page") return hide(result);
  const { screenshot, actions, ...page } = result;
  return {
    ...hide(page),
    ...(screenshot && { screenshot }),
    ...(actions && { actions: { ...actions, outcomes: hide(actions.outcomes) } }),
  };
}

function resultOf(visit: PageVisit): Promise<TransportResult> {
  renderPage(visit, () => prepareVisit(visit)).catch((problem: unknown) => {
    // If the browser is gone, that reason was reported first and counts.
    visit.failed("browser_crashed", problem instanceof Error ? problem.message.split("\n", 1)[0]! : null);
  });
  return visit.result;
}

/** A context that has ended with its browser has nothing. */
async function readJar({ context, cdp }: PageLease, jar: SessionJar): Promise<void> {
  const cookies = await context.cookies().catch(() => null);
  if (cookies !== null) jar.keepBrowser(cookies);
  const storage = await readStorage(cdp);
  if (storage !== null) jar.keepStorage(storage.origin, storage.items);
}

/** The browser refuses some cookies that a jar has, each by itself. */
async function putJar({ context, cdp }: PageLease, jar: SessionJar): Promise<void> {
  await putStorage(cdp, jar.storage());
  const cookies = jar.forBrowser();
  await context
    .addCookies(cookies)
    .catch(() => Promise.all(cookies.map((cookie) => context.addCookies([cookie]).catch(() => {}))));
}

/** The part of a context that a window of the caller's is. One pixel for each CSS pixel: a picture has the size that was asked for. */
const windowOf = (view: TransportRequest["view"]) =>
  view && {
    viewport: { width: view.width, height: view.height },
    screen: { width: view.width, height: view.height },
    ...(view.device === "mobile" && { isMobile: true, hasTouch: true }),
  };
