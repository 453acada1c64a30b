/**
 * How a page is shown in the route browser, and what it may load there: the device that the browser says it is, its window, and kinds
 * of resources that are left out.
 */
import { type Static, Type } from "typebox";
import { Component, Field, Nullable } from "./common.ts";

const BLOCKABLE_RESOURCES = ["image", "font", "media", "stylesheet", "ads"] as const;
export type BlockableResource = (typeof BLOCKABLE_RESOURCES)[number];

const DEVICES = ["desktop", "mobile"] as const;

/** Size of the window, in CSS pixels. */
const WINDOWS = { desktop: { width: 1280, height: 720 }, mobile: { width: 412, height: 915 } } as const;

const side = (least: number, most: number, sentence: string, example: number) =>
  Field(Type.Integer({ minimum: least, maximum: most }), sentence, example);

/** The window of the browser, in CSS pixels. */
export const Viewport = Component("Viewport", {
  width: side(240, 3_840, "Its width", 1920),
  height: side(240, 4_320, "Its height", 1080),
});

/** Options of a fetch, in the order of the API document. */
export const VIEW_FIELDS = {
  block_resources: Type.Optional(
    Field(
      Nullable(Type.Array(Type.Enum([...BLOCKABLE_RESOURCES]), { maxItems: 10 })),
      "What a page in a browser does not load. Images and fonts are loaded for a screenshot and for `archive` only, media for `archive` only; `ads` are " +
        "the hosts of advertising networks. Without style sheets hidden elements show. Other routes load nothing beside the page",
      ["ads", "stylesheet"],
    ),
  ),
  device: Type.Optional(
    Field(
      Type.Enum([...DEVICES], { default: "desktop" }),
      "`mobile`: a phone with a touch screen, a window of 412 × 915 and a phone's User-Agent; takes the route browser only",
    ),
  ),
  viewport: Type.Optional(
    Field(Nullable(Viewport), "The window of the browser; takes the route browser only. Default: 1280 × 720"),
  ),
};
const ViewBody = Type.Object(VIEW_FIELDS);

/** A window that is not the browser's own. */
export const PageView = Type.Object({
  device: Type.Enum([...DEVICES]),
  width: Type.Integer(),
  height: Type.Integer(),
});

export const BlockedResources = Type.Array(Type.Enum([...BLOCKABLE_RESOURCES]));

/** Empty where nothing differs from what every page has. `isSeen`: its images and fonts are loaded; `isArchived`: and its media. */
export function pageViewOf(
  { block_resources, device = "desktop", viewport }: Static<typeof ViewBody>,
  { isSeen, isArchived }: { readonly isSeen: boolean; readonly isArchived: boolean },
): { readonly view?: Static<typeof PageView>; readonly blocked?: BlockableResource[] } {
  const asked = new Set(block_resources);
  const blocked = BLOCKABLE_RESOURCES.filter(
    (kind) => asked.has(kind) && (isSeen || isArchived || kind === "stylesheet" || kind === "ads"),
  );
  return {
    ...((device !== "desktop" || viewport != null) && {
      view: { device, ...WINDOWS[device], ...viewport },
    }),
    ...(blocked.length > 0 && { blocked }),
  };
}
