import { spawnSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { createAccount } from '../support/login-app.ts';
import { operatorWithFiles } from '../support/operator.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { running, service } = await sharedServiceWithStore();
const { run, fileOf, importFile } = operatorWithFiles(running);

const script = 'docs/examples/import/from-csv.mjs';

/** Converts a CSV file. @param fields the arguments of the script */
function convert(csv: string | Buffer, fields: string[], env: Record<string, string> = {}) {
  const options = { input: csv, encoding: 'utf8', env } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...fields], options);
  const lines = stdout.split('\n').filter(Boolean);
  return { status, stderr, lines: lines.map((line) => JSON.parse(line)), text: stdout };
}

const fields = ['id=Case', 'title=Subject'];
const rows = [
  { id: '17', title: 'Access, "all"\nof it' },
  { id: '18', title: 'Zoë; Ключ' },
];

test.each([
  ['commas and line feeds', 'Case,Subject\n17,"Access, ""all""\nof it"\n18,Zoë; Ключ\n'],
  [
    'the mark of Excel, semicolons and CRLF',
    '\ufeffCase;Subject\r\n17;"Access, ""all""\nof it"\r\n18;"Zoë; Ключ"',
  ],
  [
    'tabs, a quoted header with a comma, and empty rows',
    '"Case"\tSubject\t"a,b"\n17\t"Access, ""all""\nof it"\t\n\t\t\n18\tZoë; Ключ\t\n\t\t\n',
  ],
])('reads CSV with %s', (_, csv) => {
  expect(convert(csv, fields)).toMatchObject({ status: 0, stderr: '', lines: rows });
});

test('numbers, booleans, times and nested fields come as the import wants them; empty cells are left out', () => {
  const csv =
    'Case,Opened,By,Needs,Self,Note\n17,2024-05-02 08:00,ann,2,TRUE,\n18,2024-05-02T08:00:00.5Z,,,FALSE,x\n';
  const given = [
    'id=Case',
    'created_at=Opened',
    'requested_by.actor_id=By',
    'requested_by.actor_type:=custom',
    'approvals_needed=Needs',
    'self_review=Self',
    'comment=Note',
  ];
  expect(convert(csv, given, { ZONE: '+02:00' }).lines).toEqual([
    {
      id: '17',
      created_at: '2024-05-02T08:00:00+02:00',
      requested_by: { actor_id: 'ann', actor_type: 'custom' },
      approvals_needed: 2,
      self_review: true,
      comment: '',
    },
    { id: '18', created_at: '2024-05-02T08:00:00.5Z', self_review: false, comment: 'x' },
  ]);
});

test('the access requests and events of a back office are imported', async () => {
  const { account_id } = await createAccount(service);
  const requests = convert('Case;Subject\r\n17;Old case\r\n', fields);
  const map = fileOf('');
  const ofAccount = ['--account', account_id, '--ids-to', map];
  const imported = await importFile('access-requests', fileOf(requests.text), ...ofAccount);
  expect(imported.summary).toMatchObject({ added: 1, refused: 0 });
  const csv = 'Case;Author;Verdict;Text;When\r\n17;0042;approved;"=1+1";2024-05-02 09:30\r\n';
  const columns = [
    'access_request_id=Case',
    'type:=review',
    'actor_type:=custom',
    'actor_id=Author',
    'status=Verdict',
    'comment=Text',
    'created_at=When',
  ];
  const events = fileOf(convert(csv, columns).text);
  expect((await importFile('events', events, '--ids-from', map)).summary).toMatchObject({
    added: 1,
    refused: 0,
  });
  const found = await run(
    'access-requests',
    'find',
    '--account',
    account_id,
    '--imported-id',
    '17',
  );
  const { access_request_id } = JSON.parse(found.stdout);
  const { stdout } = await run('events', 'export', '--access-request', String(access_request_id));
  expect(JSON.parse(stdout)).toMatchObject({
    type: 'review',
    actor_id: '0042',
    status: 'approved',
    comment: '=1+1',
    created_at: '2024-05-02T09:30:00.000Z',
  });
});

describe('prints no line and says what is wrong with', () => {
  test.each([
    [
      'another encoding',
      Buffer.from('Case\nm\xfcller\n', 'latin1'),
      'The file is not UTF-8. In Excel, save it as "CSV UTF-8".',
    ],
    ['a missing column', 'Nr,Subject\n17,x\n', 'There is no column Case, only Nr, Subject.'],
    ['a short row', 'Case,Subject\n17,x\n18\n', 'Row 3 has 1 cells, but there are 2 headers.'],
    [
      'a quotation mark within a cell',
      'Case,Subject\n17,a"b\n',
      'Row 2 has a quotation mark in the wrong place.',
    ],
    [
      'a quotation that does not end',
      'Case,Subject\n17,"b\n',
      'Row 2 has a quotation mark in the wrong place.',
    ],
  ])('%s', (_, csv, problem) => {
    expect(convert(csv, fields)).toMatchObject({ status: 1, lines: [], stderr: `${problem}\n` });
  });

  test('an argument of another form', () => {
    const { status, stderr } = convert('Case\n17\n', ['Case']);
    expect([status, stderr]).toEqual([1, 'Case is neither FIELD=HEADER nor FIELD:=VALUE.\n']);
  });
});
