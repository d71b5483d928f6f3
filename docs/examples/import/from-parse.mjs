import { json } from 'node:stream/consumers';

for (const one of (await json(process.stdin)).results) {
  if (!one.deviceToken || !['ios', 'android'].includes(one.deviceType)) continue;
  const line = {
    platform: one.deviceType,
    token: one.deviceToken,
    locale: one.localeIdentifier?.replaceAll('_', '-'),
    app_version: one.appVersion,
    installation_id: one.installationId,
    created_at: one.createdAt,
    last_seen_at: one.updatedAt,
  };
  console.log(JSON.stringify(line));
}
