/** The name that somebody who typed another one may have meant: at most a third of it differs. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const [first] = names
    .map((name) => ({ name, edits: editsBetween(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= name.length / 3)
    .toSorted((a, b) => a.edits - b.edits);
  return first?.name;
}

/** The Levenshtein distance: how many letters have to be added, removed or replaced. */
function editsBetween(from: string, to: string): number {
  let row = [...to, ''].map((_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (const [column, other] of [...to].entries()) {
      const [diagonal = 0, above = 0] = row.slice(column, column + 2);
      next.push(Math.min(above + 1, (next[column] ?? 0) + 1, diagonal + Number(letter !== other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
