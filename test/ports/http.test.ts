import { listenNode } from "../../gateway/adapters/http.node.ts";
import { loadUws } from "../../gateway/adapters/http.uws.ts";
import { httpSuite } from "./http.ts";

httpSuite("uWebSockets.js", "uws", await loadUws());
httpSuite("node:http", "node", listenNode);
