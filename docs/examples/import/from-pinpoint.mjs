import { convert, readJsonLines } from './convert.mjs';

const devices = {
  GCM: { platform: 'android' },
  APNS: { platform: 'ios' },
  APNS_SANDBOX: { platform: 'ios', environment: 'sandbox' },
};
/** Channels that are no phones. */
const others = ['EMAIL', 'SMS', 'VOICE', 'IN_APP', 'CUSTOM'];

await convert(async function* (leaveOut) {
  for await (const one of readJsonLines()) {
    const { ChannelType, Address, EndpointStatus, OptOut, EffectiveDate, Demographic = {} } = one;
    if (others.includes(ChannelType) || EndpointStatus === 'INACTIVE' || OptOut === 'ALL') continue;
    const { AppVersion, Locale } = Demographic;
    const details = { last_seen_at: EffectiveDate, app_version: AppVersion, locale: Locale };
    if (!devices[ChannelType]) leaveOut(ChannelType);
    else yield { ...devices[ChannelType], token: Address, ...details };
  }
});
