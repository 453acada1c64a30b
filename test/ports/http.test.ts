import { listenNode } from "../../gateway/adapters/http.node.ts";
import { loadUws } from "../../gateway/adapters/http.uws.ts";
import { httpSuite } from "./http.ts";

httpSuite("uWebSockets.js", await loadUws(), { adapter: "uws", closesAfterChunks: true });
httpSuite("node:http", listenNode, { adapter: "node", closesAfterChunks: false });
