/**
 * The way of a visited page to its result: navigation, waiting until it is worth reading (page-readiness.ts) and what the caller waits
 * for is there (wait-for.ts), the caller's steps, its text and its picture. A document that follows another begins anew.
 */
import type { Shortfall, TransportRequest } from "../../../lib/web/transport.ts";
import { frameRules } from "./frame-rules.ts";
import { LATE, pause, within } from "./in-time.ts";
import { type ActionsResult, takeActions } from "./page-actions.ts";
import { failNavigation } from "./page-documents.ts";
import {
  lookAtDocument,
  type NetworkActivity,
  type Readiness,
  readinessOf,
  watchNetwork,
} from "./page-readiness.ts";
import { type PageVisit, SCREENSHOT_MS } from "./page-visit.ts";
import type { ScreenshotResult } from "./screenshot.ts";
import { describeLeftOut, type LeftOut, type Shown, shownDocument } from "./shown-document.ts";
import { type Awaited, awaitedState } from "./wait-for.ts";

/** After a step, for a handler that leads the page away. */
const STEP_SETTLE_MS = 250;
/** Between two looks at a document: once the network is quiet, and before that. */
const LOOK_EVERY_MS = 100;
const LOOK_WHILE_LOADING_MS = 500;
/** Before the caller's deadline the page is read as it stands: so long take reading and judging it. */
const DEADLINE_MARGIN_MS = 1_500;

/** A visited page on its way to its result. */
interface Rendering {
  readonly visit: PageVisit;
  readonly network: NetworkActivity;
  readonly awaited: Awaited;
  readonly refusalOf: (frame_url: string) => Promise<LeftOut | null>;
  /** Whether the document that was the last at the call is the last no more, or is about to be. */
  readonly replacement: () => () => boolean;
  /** Time of the page without what reading and picturing it take. */
  readonly left_ms: () => number;
}

function renderingOf(visit: PageVisit): Rendering {
  const { request, limits, clock, progress, lease, timer } = visit;
  const reserved_ms = limits.read_ms + (request.screenshot ? SCREENSHOT_MS : 0);
  const { refusalOf } = frameRules(request, {
    url: () => progress.hop.url,
    isPublic: () => lease.session.documentNetwork() === "public",
    freeSlot: () => progress.hop.release(),
  });
  return {
    visit,
    network: watchNetwork(lease.page, () => clock.mono()),
    awaited: awaitedState(request.wait_for ?? null, limits.wait_for_ms, () => clock.mono()),
    refusalOf,
    replacement() {
      const documents_before = progress.documents;
      return () => progress.pending_documents > 0 || progress.documents !== documents_before;
    },
    left_ms: () =>
      Math.min(
        timer.remaining_ms() - reserved_ms,
        (request.deadline_ms ?? Infinity) - DEADLINE_MARGIN_MS - clock.now(),
      ),
  };
}

/** From the page's first request to its result. `prepare` is called once its network is watched. */
export async function renderPage(visit: PageVisit, prepare: () => Promise<void>): Promise<void> {
  const rendering = renderingOf(visit);
  await prepare();
  try {
    await visit.lease.page.goto(visit.progress.hop.url, { waitUntil: "commit", timeout: 0 });
  } catch (problem) {
    const text = problem instanceof Error ? problem.message : String(problem);
    if (!text.includes("interrupted by another navigation")) return failNavigation(visit, text);
  }
  const { progress, steps } = visit;
  let acted: ActionsResult | null = null;
  while (!visit.isOver()) {
    const isReplaced = rendering.replacement();
    await untilReady(rendering);
    if (steps.length > 0 && acted === null) {
      // An error's page has nothing of what the steps are about.
      const isPage =
        progress.pending_documents === 0 && progress.origin !== null && progress.origin.status < 400;
      if (isPage) acted = await takeSteps(rendering);
      if (isPage || progress.pending_documents > 0) continue;
    }
    if (await answerAsRead(rendering, acted, isReplaced)) return;
  }
}

/** Reads the document and ends the visit with it. False: another document has replaced it. */
async function answerAsRead(
  rendering: Rendering,
  acted: ActionsResult | null,
  isReplaced: () => boolean,
): Promise<boolean> {
  const { visit, awaited } = rendering;
  const { request } = visit;
  const read = isReplaced() ? null : await readDocument(rendering);
  if (read === null || isReplaced()) {
    await pause(20);
    return false;
  }
  const body = read.html === null ? null : Buffer.from(read.html);
  if (body === null || body.length > request.max_bytes) {
    visit.failed("too_large", `The rendered page is larger than ${request.max_bytes} bytes`);
    return true;
  }
  const picture = request.screenshot ? await takePicture(rendering, request.screenshot) : null;
  // A script of the page has left it meanwhile.
  if (isReplaced()) return false;
  const shortfall = actionFailed(acted) ?? awaited.shortfall() ?? pictureFailed(picture);
  visit.page(visit.progress.origin!, {
    body,
    body_kind: "rendered_dom",
    ...(picture?.kind === "taken" && { screenshot: picture.screenshot }),
    ...(acted && { actions: acted.taken }),
    ...(shortfall && { shortfall }),
    ...(read.left_out.size > 0 && { detail: describeLeftOut(read.left_out) }),
  });
  return true;
}

const actionFailed = (acted: ActionsResult | null): Shortfall | null =>
  acted?.failure == null ? null : { error: "action_failed", detail: acted.failure };
const pictureFailed = (picture: ScreenshotResult | null): Shortfall | null =>
  picture?.kind === "failed" ? { error: "screenshot_failed", detail: picture.detail } : null;

function takePicture(
  { visit: { request, pictures, lease, progress, timer }, network }: Rendering,
  options: NonNullable<TransportRequest["screenshot"]>,
): Promise<ScreenshotResult> {
  const page = { cdp: lease.cdp, frame: progress.main_frame!, network, signal: request.signal };
  return pictures.take(page, options, { onWait: () => timer.pause(), onTurn: () => timer.resume() });
}

function takeSteps(rendering: Rendering): Promise<ActionsResult> {
  const { visit, network, left_ms } = rendering;
  const { progress, lease, clock } = visit;
  progress.first_document = progress.documents;
  return takeActions(visit.steps, {
    page: lease.page,
    cdp: lease.cdp,
    secrets: visit.secrets,
    network,
    frame: progress.main_frame!,
    now: () => clock.mono(),
    left_ms,
    isOver: visit.isOver,
    settle: () => settle(rendering),
    takePicture: (full_page) => takePicture(rendering, { type: "png", full_page }),
  });
}

/** Until the document that a step leads to, if it does, is worth reading. A handler may lead away a moment after its event. */
async function settle(rendering: Rendering): Promise<void> {
  const { progress, clock, isOver } = rendering.visit;
  const until_ms = clock.mono() + STEP_SETTLE_MS;
  const isLed = (): boolean => progress.documents !== progress.first_document;
  while (!isOver() && !isLed() && clock.mono() < until_ms) await pause(20);
  while (!isOver() && (progress.pending_documents > 0 || isLed())) {
    progress.first_document = progress.documents;
    await untilReady(rendering);
  }
}

/** Resolves when the page is worth reading, when the time for that is over, or when it requests another document. */
async function untilReady(rendering: Rendering): Promise<void> {
  const { visit, network, awaited, left_ms } = rendering;
  const { request, limits, clock, progress } = visit;
  const documents_before = progress.documents;
  let document_ms = clock.mono();
  let parsed_ms: number | null = null;
  let looked_ms = -Infinity;
  let readiness: Readiness = "parsing";
  /** When a text that was too thin has changed; a text that still grows is not read yet. */
  let changed_ms = -Infinity;
  let text_chars: number | null = null;
  awaited.reset();
  const remainingMs = (): number => {
    const settle_ms = readiness === "challenge" ? limits.challenge_ms : limits.settle_ms;
    const limit_ms =
      parsed_ms === null
        ? document_ms + limits.parse_ms
        : Math.max(parsed_ms + settle_ms, awaited.limit_ms(limits.quiet_ms));
    return Math.min(limit_ms - clock.mono(), left_ms());
  };
  const onParsed = (at_ms: number): void => {
    parsed_ms = at_ms;
    awaited.onParsed(progress.origin?.status ?? 0);
  };
  while (!visit.isOver() && progress.documents === documents_before) {
    // The time of a document begins when its response head is there.
    if (progress.pending_documents > 0) document_ms = clock.mono();
    else if (remainingMs() <= 0) {
      if (parsed_ms !== null || !request.wait_for) return;
      // It is as parsed as it gets: from now on it is waited for.
      onParsed(clock.mono());
      if (remainingMs() <= 0) return;
    }
    const is_quiet = network.quiet_ms() >= limits.quiet_ms;
    const isDue = is_quiet || clock.mono() - looked_ms >= LOOK_WHILE_LOADING_MS;
    if (progress.pending_documents === 0 && isDue) {
      looked_ms = clock.mono();
      const look = lookAtDocument(visit.lease.cdp, progress.main_frame!, request.wait_for?.selector);
      const state = await Promise.race([look, pause(remainingMs()).then(() => null)]);
      if (state !== null && progress.origin !== null) {
        // A caller that says what it waits for does not wait for text.
        const isTold = Boolean(request.wait_for) || visit.steps.length > 0;
        const min_text_chars = isTold ? 0 : (request.min_text_chars ?? 0);
        readiness = readinessOf(state, { ...progress.origin, min_text_chars });
        if (readiness !== "parsing" && parsed_ms === null) onParsed(looked_ms);
        awaited.onLook(state);
        const wasThin = text_chars !== null;
        if ((wasThin || readiness === "thin") && text_chars !== state.text_chars) {
          text_chars = state.text_chars;
          changed_ms = looked_ms;
        }
        const isSettled = is_quiet && looked_ms - changed_ms >= limits.quiet_ms;
        if (readiness === "ready" && isSettled && awaited.isOver()) return;
      }
    }
    await pause(LOOK_EVERY_MS);
  }
}

/**
 * The document as text, read in an isolated world that the page's scripts cannot manipulate; null: the document was
 * just replaced.
 */
async function readDocument({ visit, refusalOf }: Rendering): Promise<Shown | null> {
  const { request, limits, lease } = visit;
  const reading = shownDocument({ cdp: lease.cdp, max_bytes: request.max_bytes, refusalOf });
  const read = await within(
    reading.catch(() => null),
    limits.read_ms,
  );
  if (read !== LATE) return read;
  visit.failed("timeout", "A script of the page did not end");
  return null;
}
