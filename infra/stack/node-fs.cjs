/** As `node-http.cjs`, for `node:fs`: to read all that it exports is to load `fs/promises`. */
module.exports = process.getBuiltinModule('node:fs');
