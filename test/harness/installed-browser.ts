/** The browser that scenarios start services with, and the routes from this crawler's own addresses that there are with it. */
import { existsSync } from "node:fs";
import { browsers } from "./browser-harness.ts";

const [, chromium] = browsers[0] ?? [];
const { path } = (await chromium?.ready()) ?? { path: null };

/** Null: there is none. */
export const chromium_path = path !== null && existsSync(path) ? path : null;
export const OWN_ROUTES = chromium_path === null ? (["direct"] as const) : (["direct", "browser"] as const);
