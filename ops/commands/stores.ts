/**
 * trawl stores: which installation the documents, the bodies and the bus belong to, and the operator's word that they belong
 * together. trawl bodies collect: the operator's word that bodies which no document names may be removed, however many they are.
 */
import { Command } from "commander";
import { systemRandom } from "../../cluster/adapters/time/random.system.ts";
import type { Blobs } from "../../cluster/ports/blobs.ts";
import type { Documents } from "../../cluster/ports/documents.ts";
import { forceCollection } from "../collect-bodies.ts";
import { adoptBodies, readIdentity } from "../store-identity.ts";
import { openBlobs, storePlaces } from "../stores.ts";
import {
  CommandError,
  type Context,
  type Json,
  withDocuments,
  withJson,
  withNodeDirectory,
} from "./context.ts";

export function storesCommand(context: Context): Command {
  const stores = new Command("stores").description("see and decide which stores belong together");
  withJson(stores.command("show"))
    .description("print the id that the documents and the bodies carry")
    .action(async ({ json }: Json) => {
      const { documents, bodies } = await withStores(context, (opened) => readIdentity(opened));
      const places = storePlaces(await context.config());
      const shown = {
        documents: { place: places.documents, id: documents?.id ?? null },
        bodies: { place: places.bodies, id: bodies?.id ?? null },
      };
      if (json) return context.out(JSON.stringify(shown));
      for (const [store, { place, id }] of Object.entries(shown))
        context.out(`${store}: ${place} ${id === null ? "carry no id" : `carry the id "${id}"`}`);
    });
  withJson(stores.command("adopt"))
    .description("make the bodies those of these documents, after a restore or a deliberate change of stores")
    .action(async ({ json }: Json) => {
      const { id, former_id } = await withStores(context, async (opened) =>
        adoptBodies({
          ...opened,
          places: storePlaces(await context.config()),
          now_ms: context.now,
          random: systemRandom(),
        }),
      );
      await adoptBus(context, id);
      if (json) return context.out(JSON.stringify({ id, former_id }));
      const places = storePlaces(await context.config());
      const former = former_id === null ? "carried no id" : `carried the id "${former_id}"`;
      context.err(
        `The bodies in ${places.bodies} belong to the documents in ${places.documents} (id "${id}"); they ${former}. ` +
          "Bodies that these documents do not name are removed from now on",
      );
    });
  return stores;
}

export function bodiesCommand(context: Context): Command {
  const bodies = new Command("bodies").description("manage stored bodies");
  withJson(bodies.command("collect"))
    .description("have the service remove bodies that no document names, however many they are")
    .requiredOption(
      "--force",
      "for three days: without it at most a fifth and a thousandth an hour are removed",
    )
    .action(async ({ json }: Json) => {
      const until_ms = await withDocuments(context, (documents) => forceCollection(documents, context.now()));
      const until = new Date(until_ms).toISOString();
      if (json) return context.out(JSON.stringify({ until }));
      context.err(`Bodies that no document names are removed without limit until ${until}`);
    });
  return bodies;
}

async function withStores<T>(
  context: Context,
  work: (stores: { readonly documents: Documents; readonly blobs: Blobs }) => Promise<T>,
): Promise<T> {
  return withDocuments(context, async (documents) => {
    const blobs = await openBlobs(await context.config());
    try {
      return await work({ documents, blobs });
    } finally {
      await blobs.close();
    }
  });
}

/** Messages on the bus belong to its documents, too. */
async function adoptBus(context: Context, id: string): Promise<void> {
  const { bus } = (await context.config()).cluster;
  if (bus === "memory") return;
  const { natsLeases } = await import("../../cluster/adapters/leases/leases.nats.ts");
  const leases = await natsLeases(bus);
  try {
    if ((await leases.agreeOn("documents", id)) === id) return;
    const nodes = await withNodeDirectory(context, (directory) => directory.nodes());
    if (nodes.length > 0)
      throw new CommandError(
        `Cannot adopt the bus of TRAWL_BUS: nodes with other documents run on it: ${nodes.map(({ node }) => node).join(", ")}`,
      );
    await leases.overrule("documents", id);
  } finally {
    await leases.close();
  }
}
