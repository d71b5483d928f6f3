/**
 * Stands for `node:http` in the bundles. To import one of Node's own modules into an ES module is to read all that
 * it exports, and to read all of `node:http` is to load the whole of `fetch`, for some twenty milliseconds.
 */
module.exports = process.getBuiltinModule('node:http');
