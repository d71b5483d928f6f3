import type { BreakingChange } from './oasdiff.ts';

/** The text below a heading of a Markdown page, up to the next heading of its level or above. */
function section(page: string, heading: string): string {
  const [, text = ''] = `\n${page}`.split(`\n${heading}\n`);
  const level = heading.indexOf(' ');
  return text.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? '';
}

/** The changes whose operation, such as `POST /v1/things`, is not named under `### Breaking` of what is unreleased. */
export function unannounced(changes: BreakingChange[], changelog: string): BreakingChange[] {
  const announced = section(section(changelog, '## Unreleased'), '### Breaking');
  return changes.filter(({ operation, path }) => !announced.includes(`\`${operation} ${path}\``));
}
