const appIdSettings = new Set(['audiences', 'client_id', 'consumer_key']);

/** Warnings about app ids in settings that contain a space, which mostly comes along when an id is copied. */
export const warnOfSpaces = (settings: object): string[] =>
  [...new Set(appIdsIn(settings))]
    .filter((id) => /\s/.test(id))
    .map((id) => `the app id ${JSON.stringify(id)} contains a space. Is it right?`);

function appIdsIn(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (appIdSettings.has(name)) return [value].flat();
    return value instanceof Object ? appIdsIn(value) : [];
  });
}
