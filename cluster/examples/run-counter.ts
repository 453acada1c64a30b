/**
 * Adds one to the counter "apples" and prints what it has come to. Its count is stored before the answer is given.
 *
 *     node cluster/examples/run-counter.ts counters.sqlite                               (one process)
 *     node cluster/examples/run-counter.ts mongodb://… nats://…                          (a node of a cluster)
 */
import { mongoDocuments } from "../adapters/documents/documents.mongo.ts";
import { sqliteDocuments } from "../adapters/documents/documents.sqlite.ts";
import { natsBus } from "../adapters/bus/bus.nats.ts";
import { natsLeases } from "../adapters/leases/leases.nats.ts";
import { systemClock } from "../adapters/time/clock.system.ts";
import { systemRandom } from "../adapters/time/random.system.ts";
import { distributed } from "../distributed.ts";
import { embedded } from "../embedded.ts";
import { nextEpoch } from "../process-epoch.ts";
import { Counter, counter } from "./counter.ts";

const [store = "counters.sqlite", nats] = process.argv.slice(2);
const documents = store.startsWith("mongodb") ? mongoDocuments(store) : sqliteDocuments(store);
const deps = { clock: systemClock(), random: systemRandom(), documents };
const [bus, leases] = nats === undefined ? [] : await Promise.all([natsBus(nats), natsLeases(nats)]);
const node =
  bus && leases
    ? await distributed([counter], { ...deps, bus, leases }, { name: `node-${process.pid}`, owns: true })
    : embedded([counter], deps, await nextEpoch(documents));

// A node of a cluster owns keys from here on.
await node.recovered;
console.log(await node.ask(Counter, "apples", "add", { by: 1 }));

await node.stop();
await Promise.all([leases?.close(), bus?.close(), documents.close()]);
