/**
 * Stands for `node:fs` in the bundles, as `node-http.cjs` for `node:http`. To read all that it exports is to load
 * `fs/promises`.
 */
module.exports = process.getBuiltinModule('node:fs');
