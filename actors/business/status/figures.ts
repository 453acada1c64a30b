/** Figures of nodes become the figures of the cluster, and those become plain numbers. Pure. */
import type { NodeStats } from "../../../cluster/embedded.ts";
import type { Figure, Figures } from "../../../schemas/status.ts";
import { percentile95, type RollingWindow } from "../../lib/rolling-window.ts";

/** Numbers of the whole cluster by name, `buckets` as their 95th percentile. What no node reported is absent. */
export type Facts = Readonly<Record<string, number | undefined>>;

/** Nodes of two versions may report one name in different ways: the first way counts. */
export function mergeFigures(reports: Iterable<Figures>): Figures {
  const merged: Record<string, Figure> = {};
  for (const figures of reports)
    for (const [name, figure] of Object.entries(figures)) {
      const previous = merged[name];
      merged[name] = previous === undefined ? figure : mergeFigure(previous, figure);
    }
  return merged;
}

function mergeFigure(a: Figure, b: Figure): Figure {
  if ("sum" in a && "sum" in b) return { sum: a.sum + b.sum };
  if ("max" in a && "max" in b) return { max: Math.max(a.max, b.max) };
  if ("min" in a && "min" in b) return { min: Math.min(a.min, b.min) };
  if ("buckets" in a && "buckets" in b)
    return { buckets: a.buckets.map((count, bound) => count + (b.buckets[bound] ?? 0)) };
  return a;
}

export function factsOf(figures: Figures): Facts {
  const facts: Record<string, number> = {};
  for (const [name, figure] of Object.entries(figures)) {
    const value = valueOf(figure);
    if (value !== null) facts[name] = value;
  }
  return facts;
}

function valueOf(figure: Figure): number | null {
  if ("sum" in figure) return figure.sum;
  if ("max" in figure) return figure.max;
  if ("min" in figure) return figure.min;
  return percentile95(figure.buckets);
}

/** The messages that wait in the mailboxes of these kinds of actors on this node, and how long the oldest has waited. */
export function mailboxesOf(
  { waiting, oldest_ms }: Pick<NodeStats, "waiting" | "oldest_ms">,
  kinds: readonly { readonly name: string }[],
): { readonly waiting: number; readonly oldest_ms: number } {
  return {
    waiting: kinds.reduce((sum, { name }) => sum + (waiting[name] ?? 0), 0),
    oldest_ms: Math.max(0, ...kinds.map(({ name }) => oldest_ms[name] ?? 0)),
  };
}

/** A window as figures: `<prefix>.<name>` for each count, `<prefix>.latency_p95_ms`. */
export function windowFigures<Name extends string>(
  prefix: string,
  window: RollingWindow<Name>,
  now_ms: number,
): Figures {
  const sums = Object.entries<number>(window.sums(now_ms)).map(
    ([name, sum]) => [`${prefix}.${name}`, { sum }] as const,
  );
  return {
    ...Object.fromEntries(sums),
    [`${prefix}.latency_p95_ms`]: { buckets: [...window.latencies(now_ms)] },
  };
}
