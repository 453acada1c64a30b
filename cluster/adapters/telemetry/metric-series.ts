/**
 * Counters and histograms for prom-client's registry, without prom-client's own: those check, sort and join the labels
 * on every call, which takes a microsecond, several times per request. Here each label value is one step in a tree, and
 * text is only made when the registry reads.
 */
interface Shape {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** A sample of the text format. */
interface SampleLine {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/** A metric as the registry reads it. */
interface MetricSnapshot<Kind extends string> {
  readonly name: string;
  readonly help: string;
  readonly type: Kind;
  readonly aggregator: "sum";
  readonly values: readonly SampleLine[];
}

interface Branch<Cell> {
  readonly next: Map<string, Branch<Cell>>;
  cell: Cell | null;
}

/**
 * The cells of a metric, one for each combination of label values. A metric without labels has its cell from the start.
 */
function cells<Cell>(names: readonly string[], create: () => Cell) {
  const root: Branch<Cell> = { next: new Map(), cell: names.length === 0 ? create() : null };
  const all: { readonly labels: Labels; readonly cell: Cell }[] = [];
  if (root.cell) all.push({ labels: {}, cell: root.cell });
  let latest: { readonly labels: Labels; readonly cell: Cell } | null = null;
  /** Labels that are one object in each call cost no lookup: nothing changes them. */
  const of = (labels: Labels): Cell => {
    if (latest?.labels === labels) return latest.cell;
    const cell = find(labels);
    latest = { labels, cell };
    return cell;
  };
  const find = (labels: Labels): Cell => {
    let at = root;
    for (const name of names) {
      const value = labels[name]!;
      let next = at.next.get(value);
      if (!next) at.next.set(value, (next = { next: new Map(), cell: null }));
      at = next;
    }
    if (at.cell) return at.cell;
    const cell = (at.cell = create());
    all.push({ labels: Object.fromEntries(names.map((name) => [name, labels[name]!])), cell });
    return cell;
  };
  return { all, of };
}

export function counter({ name, help, labels: names }: Shape) {
  const { all, of } = cells(names, () => ({ value: 0 }));
  return {
    name,
    add: (labels: Labels, by: number): void => void (of(labels).value += by),
    async get(): Promise<MetricSnapshot<"counter">> {
      const values = all.map(({ labels, cell }) => ({ labels, value: cell.value }));
      return { name, help, type: "counter", aggregator: "sum", values };
    },
  };
}

/** `buckets` are ascending, without +Inf. */
export function histogram({ name, help, labels: names, buckets }: Shape & { buckets: readonly number[] }) {
  // Counts per bucket, not cumulative; the last one is +Inf. They are added up when the registry reads.
  const { all, of } = cells(names, () => ({
    sum: 0,
    counts: Array.from({ length: buckets.length + 1 }, () => 0),
  }));
  return {
    name,
    /** The series is shown from now on. */
    begin: (labels: Labels): void => void of(labels),
    observe(labels: Labels, value: number): void {
      const cell = of(labels);
      let bucket = 0;
      while (bucket < buckets.length && value > buckets[bucket]!) bucket++;
      cell.counts[bucket]!++;
      cell.sum += value;
    },
    async get(): Promise<MetricSnapshot<"histogram">> {
      const values = all.flatMap(({ labels, cell }): SampleLine[] => {
        let count = 0;
        const lines: SampleLine[] = cell.counts.map((fell, bucket) => ({
          metricName: `${name}_bucket`,
          labels: { le: buckets[bucket] ?? "+Inf", ...labels },
          value: (count += fell),
        }));
        return [
          ...lines,
          { metricName: `${name}_sum`, labels, value: cell.sum },
          { metricName: `${name}_count`, labels, value: count },
        ];
      });
      return { name, help, type: "histogram", aggregator: "sum", values };
    },
  };
}
