/**
 * A document as a page shows it: what its open shadow roots show stands in their elements, with slots filled, and what frames of its site
 * show stands behind their elements, in `<div data-frame="address">`. A document without either is as the browser writes it. It is read
 * beside the page's scripts; nothing of the page is changed.
 */
import type { PageLease } from "./browser-pool.ts";
import { isolatedWorld } from "./isolation.ts";

/** Frames of a page. */
const MAX_FRAMES = 20;
/** Frames in frames. */
const MAX_FRAME_DEPTH = 3;

/** Why a frame is not in the document. */
export type LeftOut = "not_loaded" | "other_site" | "robots" | "too_many" | "too_deep" | "too_large";

const LEFT_OUT: Readonly<Record<LeftOut, string>> = {
  not_loaded: "that could not be loaded",
  other_site: "of another site",
  robots: "that robots.txt does not allow, or could not be asked for",
  too_many: `beyond the limit of ${MAX_FRAMES}`,
  too_deep: "within three others",
  too_large: "larger than what is left of max_bytes",
};

/** For the detail of a page. */
export const describeLeftOut = (reasons: Shown["left_out"]): string =>
  `Frames that were not read: ${[...reasons].map(([reason, count]) => `${count} ${LEFT_OUT[reason]}`).join("; ")}`;

export interface Shown {
  /** Null: the document itself is larger than `max_bytes`. */
  readonly html: string | null;
  /** The frames that are not in it, by the reason. */
  readonly left_out: ReadonlyMap<LeftOut, number>;
}

export interface ShownOptions {
  readonly cdp: PageLease["cdp"];
  /** For the document with all that is put into it; a frame that does not fit is left out. */
  readonly max_bytes: number;
  /** Why what the frame of this address shows must not be read; null: it may. An address that is not of HTTP inherits its page's. */
  readonly refusalOf: (url: string) => Promise<LeftOut | null>;
}

type FrameTree = Awaited<ReturnType<typeof frameTree>>;

const frameTree = async (cdp: PageLease["cdp"]) => (await cdp.send("Page.getFrameTree")).frameTree;

/** Throws what the browser throws: the document was just replaced, or the page has gone. */
export async function shownDocument({ cdp, max_bytes, refusalOf }: ShownOptions): Promise<Shown> {
  const left_out = new Map<LeftOut, number>();
  const leaveOut = (reason: LeftOut): "" => {
    left_out.set(reason, (left_out.get(reason) ?? 0) + 1);
    return "";
  };
  let room_bytes = max_bytes;
  let frames = 0;

  /** Null: it does not fit. */
  async function read(tree: FrameTree, depth: number): Promise<string | null> {
    const children = (tree.childFrames ?? []).slice(0, MAX_FRAMES);
    const { pieces, shown } = await serialized(cdp, tree.frame.id, {
      is_inner: depth > 0,
      max_chars: room_bytes,
      frames: children.map(({ frame }) => frame.id),
    });
    if (pieces === null) return null;
    const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    if (bytes > room_bytes) return null;
    room_bytes -= bytes;
    const parts = [pieces[0]!];
    for (const [at, index] of shown.entries())
      parts.push(await framed(children[index], depth), pieces[at + 1]!);
    return parts.join("");
  }

  /** `child`: undefined where another process shows it, as it does with other sites. */
  async function framed(child: FrameTree | undefined, depth: number): Promise<string> {
    const reason = child ? await whyNot(child, depth) : "other_site";
    if (!child || reason !== null) return leaveOut(reason ?? "other_site");
    const inner = await read(child, depth + 1);
    if (inner === null) return leaveOut("too_large");
    const { url } = child.frame;
    const name = /^(?:https?|about):/i.test(url) ? url : url.slice(0, url.indexOf(":") + 1);
    return `<div data-frame="${quoted(name)}">${inner}</div>`;
  }

  async function whyNot({ frame }: FrameTree, depth: number): Promise<LeftOut | null> {
    if (frame.unreachableUrl !== undefined) return "not_loaded";
    if (depth >= MAX_FRAME_DEPTH) return "too_deep";
    if (++frames > MAX_FRAMES) return "too_many";
    return /^https?:/i.test(frame.url) ? refusalOf(frame.url) : null;
  }

  return { html: await read(await frameTree(cdp), 0), left_out };
}

const quoted = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");

interface Serialized {
  /** The document, cut behind each frame; null: it has more characters than the limit, and was not transferred. */
  readonly pieces: readonly string[] | null;
  /** The frame behind each piece but the last, by its place in `frames`; -1: none of them. */
  readonly shown: readonly number[];
}

async function serialized(
  cdp: PageLease["cdp"],
  frame: string,
  {
    is_inner,
    max_chars,
    frames,
  }: { readonly is_inner: boolean; readonly max_chars: number; readonly frames: readonly string[] },
): Promise<Serialized> {
  const executionContextId = await isolatedWorld(cdp, frame);
  const owners = await Promise.all(frames.map((id) => ownerOf(cdp, id, executionContextId)));
  const { result } = await cdp.send("Runtime.callFunctionOn", {
    functionDeclaration: serializeShown.toString(),
    executionContextId,
    arguments: [{ value: is_inner }, { value: max_chars }, ...owners],
    returnByValue: true,
  });
  return result.value as Serialized;
}

/** The element of a frame, as an argument; null: the frame has just gone. */
async function ownerOf(
  cdp: PageLease["cdp"],
  frameId: string,
  executionContextId: number,
): Promise<{ readonly objectId: string } | { readonly value: null }> {
  try {
    const { backendNodeId } = await cdp.send("DOM.getFrameOwner", { frameId });
    const { object } = await cdp.send("DOM.resolveNode", { backendNodeId, executionContextId });
    return object.objectId === undefined ? { value: null } : { objectId: object.objectId };
  } catch {
    return { value: null };
  }
}

/**
 * Runs in the page, so it cannot use anything from this file. One algorithm, as HTML's serialisation of fragments is; an element that has nothing of
 * this below it is written by the browser.
 */
function serializeShown(
  is_inner: boolean,
  max_chars: number,
  ...frames: readonly (PageElement | null)[]
): Serialized {
  const MAX_DEPTH = 1_000;
  const VOID = new Set("area base br col embed hr img input link meta source track wbr frame".split(" "));
  const { doctype, documentElement, body, baseURI } = document;
  const pieces = [""];
  const shown: number[] = [];
  let chars = 0;
  const put = (text: string): void => {
    chars += text.length;
    if (chars <= max_chars) pieces[pieces.length - 1] += text;
  };
  const escaped = (text: string): string =>
    text
      .replaceAll("&", "&amp;")
      .replaceAll("\u00a0", "&nbsp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;");

  /** Elements that are written here: something below them is not as the browser would write it. */
  const changed = new Set<PageElement>();
  const change = (element: PageElement): void => {
    for (let at: PageElement | null = element; at !== null && !changed.has(at);) {
      changed.add(at);
      at = at.parentElement ?? at.getRootNode().host ?? null;
    }
  };
  const isFrame = ({ localName }: PageElement) => localName === "iframe" || localName === "frame";
  /** Addresses in a frame are relative to it. */
  const address: Readonly<Record<string, string>> = { a: "href", area: "href", img: "src" };
  const trees: PageTree[] = [document];
  for (const tree of trees) {
    const elements = tree.querySelectorAll("*");
    // By index: an iterator is slower, and pages have up to 100,000 of them.
    for (let at = 0; at < elements.length; at++) {
      const { shadowRoot } = elements[at]!;
      if (!shadowRoot) continue;
      trees.push(shadowRoot);
      change(elements[at]!);
    }
    const ofRoots = tree === document ? "" : ", slot, style";
    const ofFrames = is_inner ? ", a[href], area[href], img" : "";
    for (const element of tree.querySelectorAll(`iframe, frame${ofRoots}${ofFrames}`)) change(element);
  }

  function writeAttributes(element: PageElement): void {
    for (const { name, value } of element.attributes) {
      if (is_inner && name === "srcset") continue;
      const isMoved = is_inner && address[element.localName] === name;
      const text = isMoved && URL.canParse(value, baseURI) ? new URL(value, baseURI).href : value;
      put(` ${name}="${escaped(text).replaceAll('"', "&quot;")}"`);
    }
  }

  function writeFrame(element: PageElement): void {
    // Smaller ones count visitors.
    if (
      element.clientWidth < 2 ||
      element.clientHeight < 2 ||
      !element.checkVisibility({ visibilityProperty: true })
    )
      return;
    shown.push(frames.indexOf(element));
    pieces.push("");
  }

  function write(node: PageNode, depth: number): void {
    if (chars > max_chars) return;
    if (node.nodeType === 3) return put(escaped(node.data));
    if (node.nodeType === 8) return put(`<!--${node.data}-->`);
    if (node.nodeType !== 1) return;
    const element = node as PageElement;
    const { localName, shadowRoot } = element;
    if (!changed.has(element) || depth > MAX_DEPTH) return put(element.outerHTML);
    const isInRoot = element.getRootNode().host !== undefined;
    if (isInRoot && localName === "style") return;
    if (isInRoot && localName === "slot") {
      const assigned = element.assignedNodes();
      for (const one of assigned.length > 0 ? assigned : element.childNodes) write(one, depth + 1);
      return;
    }
    // A parser drops what stands between frames of a frame set.
    const tag = localName === "frameset" ? "div" : localName;
    put(`<${tag}`);
    writeAttributes(element);
    put(">");
    if (!VOID.has(localName) && !isFrame(element)) {
      // A style that is dropped made it a block.
      const isBlock = shadowRoot && !/^(?:inline|contents)/.test(getComputedStyle(element).display);
      if (isBlock) put("<div>");
      for (const one of (shadowRoot ?? element).childNodes) write(one, depth + 1);
      if (isBlock) put("</div>");
    }
    if (!VOID.has(localName)) put(`</${tag}>`);
    if (isFrame(element)) writeFrame(element);
  }

  if (!is_inner && doctype) {
    const ids = doctype.publicId || doctype.systemId;
    put(`<!DOCTYPE ${doctype.name}${ids ? ` PUBLIC "${doctype.publicId}" "${doctype.systemId}"` : ""}>`);
  }
  if (!is_inner && documentElement) write(documentElement, 0);
  else if (body?.localName === "frameset") write(body, 0);
  else for (const one of (body?.shadowRoot ?? body)?.childNodes ?? []) write(one, 0);
  return { pieces: chars > max_chars ? null : pieces, shown };
}

interface PageNode {
  readonly nodeType: number;
  readonly data: string;
  readonly childNodes: Iterable<PageNode>;
  readonly getRootNode: () => { readonly host?: PageElement };
}

interface PageTree {
  readonly childNodes: Iterable<PageNode>;
  readonly querySelectorAll: (selector: string) => ArrayLike<PageElement> & Iterable<PageElement>;
}

interface PageElement extends PageNode {
  readonly localName: string;
  readonly outerHTML: string;
  readonly parentElement: PageElement | null;
  readonly shadowRoot: PageTree | null;
  readonly attributes: Iterable<{ readonly name: string; readonly value: string }>;
  readonly assignedNodes: () => readonly PageNode[];
  readonly clientWidth: number;
  readonly clientHeight: number;
  readonly checkVisibility: (options: { readonly visibilityProperty: boolean }) => boolean;
}

declare const document: PageTree & {
  readonly doctype: { readonly name: string; readonly publicId: string; readonly systemId: string } | null;
  readonly documentElement: PageElement | null;
  readonly body: PageElement | null;
  readonly baseURI: string;
};
declare const getComputedStyle: (element: PageElement) => { readonly display: string };
