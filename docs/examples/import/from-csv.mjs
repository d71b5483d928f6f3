// Each argument is FIELD=HEADER, for the cells below a header, or FIELD:=VALUE, for the same value in every line.
import { buffer } from 'node:stream/consumers';

/** Times of a spreadsheet have no zone: give that of your old system, such as +02:00. */
const zone = process.env.ZONE ?? 'Z';

function readUtf8(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // without a byte order mark
  } catch {
    throw new Error('The file is not UTF-8. In Excel, save it as "CSV UTF-8".');
  }
}

/** The rows of a CSV file (RFC 4180), with commas, semicolons or tabs. */
function readCsv(text) {
  const [delimiter = ','] = text.split('\n', 1)[0].replaceAll(/"[^"]*"/g, '').match(/[,;\t]/) ?? [];
  const cellAndEnd = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${delimiter}\r\n]*))(${delimiter}|\r\n|\n|\r|$)`, 'y');
  const rows = [];
  let row = [];
  while (cellAndEnd.lastIndex < text.length || row.length > 0) {
    const [, quoted, plain, end] = cellAndEnd.exec(text) ?? [];
    if (end === undefined) throw new Error(`Row ${rows.length + 1} has a quotation mark in the wrong place.`);
    row.push(plain ?? quoted.replaceAll('""', '"'));
    if (end === delimiter) continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** The value of a cell, by the name of its field. */
function valueOf(field, text) {
  if (field === 'approvals_needed') return Number(text);
  if (field === 'self_review') return text.toLowerCase() === 'true';
  if (!field.endsWith('_at')) return text;
  const [, date, time, seconds = ':00'] = text.match(/^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d)(:\d\d)?$/) ?? [];
  return date === undefined ? text : `${date}T${time}${seconds}${zone}`;
}

/** Sets `requested_by.actor_id` in the object `requested_by`. */
function set(line, path, value) {
  const names = path.split('.');
  const last = names.pop();
  for (const name of names) line = line[name] ??= {};
  line[last] = value;
}

function convert(rows, given) {
  const [headers, ...others] = rows;
  const fields = given.map((argument) => {
    const [, field, sign, value] = argument.match(/^([\w.]+)(:?=)(.*)$/s) ?? [];
    if (field === undefined) throw new Error(`${argument} is neither FIELD=HEADER nor FIELD:=VALUE.`);
    const column = headers.indexOf(value);
    if (sign === '=' && column < 0) throw new Error(`There is no column ${value}, only ${headers.join(', ')}.`);
    return { field, textIn: (row) => (sign === '=' ? row[column] : value) };
  });
  return others.flatMap((row, index) => {
    if (row.every((cell) => cell === '')) return [];
    if (row.length !== headers.length)
      throw new Error(`Row ${index + 2} has ${row.length} cells, but there are ${headers.length} headers.`);
    const cells = fields.map(({ field, textIn }) => ({ field, text: textIn(row) }));
    // Only a comment may be empty. Another field is left out, with the object that it would be part of.
    const empty = cells.filter(({ field, text }) => text === '' && field !== 'comment').map(({ field }) => field.split('.')[0]);
    const line = {};
    for (const { field, text } of cells) if (!empty.includes(field.split('.')[0])) set(line, field, valueOf(field, text));
    return [line];
  });
}

try {
  const lines = convert(readCsv(readUtf8(await buffer(process.stdin))), process.argv.slice(2));
  for (const line of lines) console.log(JSON.stringify(line));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
