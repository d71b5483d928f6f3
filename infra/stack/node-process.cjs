/**
 * Stands for `node:process` in the bundles, as `node-http.cjs` for `node:http`. To read all that it exports is to open
 * standard input, output and error.
 */
module.exports = process.getBuiltinModule('node:process');
