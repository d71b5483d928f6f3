import { convert, readJson } from './convert.mjs';

const devices = {
  GCM: { platform: 'android' },
  APNS: { platform: 'ios' },
  APNS_SANDBOX: { platform: 'ios', environment: 'sandbox' },
};

await convert(async function* (leaveOut) {
  for (const { EndpointArn, Attributes } of (await readJson()).Endpoints) {
    // Their tokens are dead.
    if (Attributes.Enabled !== 'true') continue;
    const [, service] = EndpointArn.match(/:endpoint\/(\w+)\//);
    if (!devices[service]) leaveOut(service);
    else yield { ...devices[service], token: Attributes.Token };
  }
});
