/** As `node-http.cjs`, for `node:process`: to read all that it exports is to open standard input, output and error. */
module.exports = process.getBuiltinModule('node:process');
