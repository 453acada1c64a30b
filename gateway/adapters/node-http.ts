/**
 * Parts of node:http for the HTTP ports, without `import`: that reads each of the module's exports, and the getter WebSocket
 * loads Node's own fetch, 6 MB in each process. A type may be imported.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule("node:http");
