import express from 'express';

const { BASE, CLIENT, PORT = '8080' } = process.env; // CLIENT is client_id:client_secret
if (!BASE || !CLIENT) throw new Error('Set BASE and CLIENT.');

const app = express().use(express.json());

/** Sends a form to the service with the client secret, and the answer to the phone. */
async function forward(response, endpoint, form) {
  const answer = await fetch(`${BASE}/v2/marketing/oauth/${endpoint}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(CLIENT).toString('base64')}` },
    body: new URLSearchParams(form),
    signal: AbortSignal.timeout(20_000),
  }).catch((error) => console.error(`${endpoint}: ${error.cause?.message ?? error.message}`));
  if (!answer) return response.status(503).json({ error: 'temporarily_unavailable' });
  response.status(answer.status).set('cache-control', 'no-store').type('json').send(await answer.text());
}

app.post('/nonce', (request, response) => forward(response, 'nonce', {}));

app.post('/login', (request, response) => {
  const { id_token = '', nonce, authorization_code = '', user = '' } = request.body ?? {};
  // The service accepts each of its nonces once, so an id token that was stolen on its way can't be used again. It would
  // accept any other text, too: the hash of the nonce, which is in the id token, must not pass for one.
  if (!String(nonce).startsWith('ln.')) return response.status(400).json({ error: 'unknown_nonce' });
  return forward(response, 'token', {
    grant_type: 'provider_credentials',
    provider: 'provider_f',
    id_token,
    nonce,
    authorization_code, // The service takes an empty one for none.
    user,
  });
});

app.post('/guest', (request, response) => forward(response, 'token', { grant_type: 'guest' }));

app.post('/refresh', (request, response) =>
  forward(response, 'token', { grant_type: 'refresh_token', refresh_token: request.body?.refresh_token ?? '' }),
);

app.post('/logout', (request, response) =>
  forward(response, 'revoke', { token: request.body?.refresh_token ?? '' }),
);

app.post('/app-token', (request, response) => forward(response, 'token', { grant_type: 'client_credentials' }));

// Without this, Express answers what it can't read with a page that shows its stack.
app.use((error, request, response, next) => {
  const status = error.status ?? 500;
  if (status >= 500) console.error(error);
  response.status(status).json({ error: status < 500 ? 'invalid_request' : 'internal_server_error' });
});

const server = app.listen(Number(PORT), (error) => {
  if (error) throw error;
  console.log(`Listening on port ${server.address().port}`);
});
