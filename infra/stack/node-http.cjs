/** Stands for `node:http` in bundles: an import reads all of its exports, which loads `fetch`, for some twenty milliseconds. */
module.exports = process.getBuiltinModule('node:http');
