/**
 * A picture of a page in the browser: of its window, or from top to bottom. A full page is scrolled through once, so that what
 * loads when it is seen is there, and is cut at a number of pixels; a picture with too many bytes is none.
 *
 * Chromium hands a picture over as one base64 text, at worst 100 MB for a full page of noise: one full page at a time.
 */
import {
  MAX_SCREENSHOT_BYTES,
  MAX_SCREENSHOT_PX,
  type ScreenshotOptions,
} from "../../../../schemas/fetch.ts";
import type { TakenScreenshot } from "../../../lib/web/transport.ts";
import type { PageLease } from "./browser-pool.ts";
import { LATE, pause, within } from "./in-time.ts";
import { inIsolation } from "./isolation.ts";
import type { NetworkActivity } from "./page-readiness.ts";

/** For scrolling through a full page, and for what it loads then. */
export const SCROLL_MS = 6_000;
/** For taking the picture. */
export const CAPTURE_MS = 10_000;
/** Quiet time of the network after parts of the page were seen, before the picture is taken. */
const QUIET_MS = 250;
const LOOK_EVERY_MS = 50;
/** On each part of the page, so that scripts see that it is seen. */
const PART_MS = 40;

export type ScreenshotResult =
  | { readonly kind: "taken"; readonly screenshot: TakenScreenshot }
  | { readonly kind: "failed"; readonly detail: string };

interface PicturedPage {
  readonly cdp: PageLease["cdp"];
  /** The main frame. */
  readonly frame: string;
  readonly network: NetworkActivity;
  readonly signal: AbortSignal;
}

interface Turn {
  /** Another page is pictured first. */
  readonly onWait: () => void;
  readonly onTurn: () => void;
}

export interface Screenshots {
  /** Never throws. */
  readonly take: (
    page: PicturedPage,
    options: Required<ScreenshotOptions>,
    turn: Turn,
  ) => Promise<ScreenshotResult>;
}

export function screenshots(): Screenshots {
  let last_full_page: Promise<unknown> = Promise.resolve();
  return {
    async take(page, options, { onWait, onTurn }) {
      if (!options.full_page) return take(page, options);
      const previous = last_full_page;
      const { promise, resolve } = Promise.withResolvers<void>();
      last_full_page = promise;
      onWait();
      await previous;
      onTurn();
      try {
        return await take(page, options);
      } finally {
        resolve();
      }
    },
  };
}

async function take(page: PicturedPage, options: Required<ScreenshotOptions>): Promise<ScreenshotResult> {
  if (page.signal.aborted) return failed("The time of the request was over");
  try {
    if (options.full_page) await scrollThrough(page, MAX_SCREENSHOT_PX[options.type]);
    const captured = await within(capture(page, options), CAPTURE_MS);
    return captured !== LATE
      ? captured
      : failed(`The browser did not take it within ${CAPTURE_MS / 1_000} s`);
  } catch (problem) {
    return failed(problem instanceof Error ? problem.message.split("\n", 1)[0]! : String(problem));
  }
}

const failed = (detail: string): ScreenshotResult => ({ kind: "failed", detail });

async function capture(
  { cdp }: PicturedPage,
  { type, full_page }: Required<ScreenshotOptions>,
): Promise<ScreenshotResult> {
  const { cssLayoutViewport, cssVisualViewport, cssContentSize } = await cdp.send("Page.getLayoutMetrics");
  const { clientWidth, clientHeight } = cssLayoutViewport;
  // A phone shows a page that is not made for it smaller, so that the whole width is seen.
  const shown = full_page ? 1 : cssVisualViewport.scale;
  const content_px = Math.max(clientHeight, Math.ceil(cssContentSize.height));
  const width = Math.round(clientWidth * shown);
  const height = full_page ? Math.min(content_px, MAX_SCREENSHOT_PX[type]) : Math.round(clientHeight * shown);
  const { data } = await cdp.send("Page.captureScreenshot", {
    format: type,
    ...(full_page && { clip: { x: 0, y: 0, width, height, scale: 1 }, captureBeyondViewport: true }),
  });
  const size = Buffer.byteLength(data, "base64");
  if (size > MAX_SCREENSHOT_BYTES) {
    const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
    const hint = type === "png" ? "; webp is smaller" : "";
    return failed(`It has ${mb(size)} MiB, and ${mb(MAX_SCREENSHOT_BYTES)} are the most${hint}`);
  }
  const bytes = Buffer.from(data, "base64");
  const described = {
    content_type: `image/${type}`,
    width,
    height,
    truncated: content_px * shown > height,
  } as const;
  return { kind: "taken", screenshot: { ...described, bytes } };
}

/** Shows each part of the page once, and goes back to its top. */
async function scrollThrough(page: PicturedPage, max_px: number): Promise<void> {
  const { network, signal } = page;
  const until_ms = performance.now() + SCROLL_MS;
  await within(inIsolation(page, showParts, max_px, PART_MS, SCROLL_MS / 2), SCROLL_MS);
  while (network.quiet_ms() < QUIET_MS && performance.now() < until_ms && !signal.aborted)
    await pause(LOOK_EVERY_MS);
}

/** Runs in the page, so it cannot use anything from this file. */
async function showParts(max_px: number, part_ms: number, most_ms: number): Promise<void> {
  const began_ms = performance.now();
  const end_px = () => Math.min(max_px, document.documentElement?.scrollHeight ?? 0);
  for (
    let at_px = 0;
    at_px < end_px() && performance.now() - began_ms < most_ms;
    at_px += innerHeight || 720
  ) {
    scrollTo({ top: at_px, behavior: "instant" });
    await new Promise((resolve) => setTimeout(resolve, part_ms));
  }
  scrollTo({ top: 0, behavior: "instant" });
}

declare const document: { readonly documentElement: { readonly scrollHeight: number } | null };
declare const innerHeight: number;
declare const scrollTo: (options: { readonly top: number; readonly behavior: "instant" }) => void;
