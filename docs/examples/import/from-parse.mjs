import { convert, readJson } from './convert.mjs';

await convert(async function* (leaveOut) {
  for (const one of (await readJson()).results) {
    if (!one.deviceToken) continue;
    if (!['ios', 'android'].includes(one.deviceType)) {
      leaveOut(one.deviceType);
      continue;
    }
    yield {
      platform: one.deviceType,
      token: one.deviceToken,
      locale: one.localeIdentifier,
      app_version: one.appVersion,
      installation_id: one.installationId,
      created_at: one.createdAt,
      last_seen_at: one.updatedAt,
    };
  }
});
