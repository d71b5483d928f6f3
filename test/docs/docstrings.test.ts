import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const files = globSync(['functions/**/*.ts', 'infra/**/*.ts', 'lib/**/*.ts']);

/** Words that need the line above, or the name below, to make sense. */
const dependent =
  /^(What|The same|Of|From here|Whose|Who|Which|Where|It|Its|They|Those|Them|None|This|These)\b/;

test('a docstring stands alone: it begins with what its subject is or does', () => {
  const found = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\/\*\*\s+(?:\* )?(.*)/g)]
      .filter(([, beginning = '']) => dependent.test(beginning))
      .map(([, beginning]) => `${file}: ${beginning}`),
  );
  expect(found).toEqual([]);
});
