import { createInterface } from 'node:readline';

const devices = {
  GCM: { platform: 'android' },
  APNS: { platform: 'ios' },
  APNS_SANDBOX: { platform: 'ios', environment: 'sandbox' },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { ChannelType, Address, EndpointStatus, OptOut, EffectiveDate, Demographic = {} } = JSON.parse(line);
  if (!devices[ChannelType] || EndpointStatus === 'INACTIVE' || OptOut === 'ALL') continue;
  const { AppVersion, Locale } = Demographic;
  const details = { last_seen_at: EffectiveDate, app_version: AppVersion, locale: Locale?.replaceAll('_', '-') };
  console.log(JSON.stringify({ ...devices[ChannelType], token: Address, ...details }));
}
