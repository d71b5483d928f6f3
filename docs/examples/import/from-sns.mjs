import { json } from 'node:stream/consumers';

const devices = {
  GCM: { platform: 'android' },
  APNS: { platform: 'ios' },
  APNS_SANDBOX: { platform: 'ios', environment: 'sandbox' },
};
for (const { EndpointArn, Attributes } of (await json(process.stdin)).Endpoints) {
  const [, service] = EndpointArn.match(/:endpoint\/(\w+)\//);
  if (!devices[service] || Attributes.Enabled !== 'true') continue;
  console.log(JSON.stringify({ ...devices[service], token: Attributes.Token }));
}
