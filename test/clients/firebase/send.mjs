import { Agent } from 'node:https';
import { connect } from 'node:net';
import { initializeApp } from 'firebase-admin/app';
import { getMessaging } from 'firebase-admin/messaging';

const [port, messages] = process.argv.slice(2);

/** Takes requests to FCM, which are for port 443 of Google, to a stand-in that speaks no TLS. */
class ToStandIn extends Agent {
  createConnection() {
    return connect(Number(port), '127.0.0.1');
  }
}

initializeApp({
  projectId: 'demo',
  credential: { getAccessToken: async () => ({ access_token: 'ya29.demo', expires_in: 3600 }) },
  httpAgent: new ToStandIn(),
});
for (const message of JSON.parse(messages)) await getMessaging().send(message);
