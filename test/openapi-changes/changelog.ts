import type { BreakingChange } from './oasdiff.ts';

/** The text below a heading of a Markdown page, up to the next heading of its level or above. */
function section(page: string, heading: string): string {
  const [, text = ''] = `\n${page}`.split(`\n${heading}\n`);
  const level = heading.indexOf(' ');
  return text.split(new RegExp(`^#{1,${level}} `, 'm'))[0] ?? '';
}

/**
 * The changes whose operation, such as `POST /v1/things`, is not named under `### Breaking` of what came after a release:
 * what is unreleased, and the version that is about to be.
 */
export function unannounced(changes: BreakingChange[], changelog: string, release: string): BreakingChange[] {
  const [news = ''] = `\n${changelog}`.split(`\n## ${release}`);
  const announced = news
    .split(/^(?=## )/m)
    .map((version) => section(version, '### Breaking'))
    .join('\n');
  return changes.filter(({ operation, path }) => !announced.includes(`\`${operation} ${path}\``));
}
