import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import * as v from 'valibot';

/** The web app of the quickstart gets its codes here, the others at the first address. */
export const redirectUris = ['https://app.example/callback', 'http://localhost:8080/callback'];

/** Path below an issuer of the page where people sign in, as the metadata of the sandbox say. */
export const signInPath = '/auth';

/**
 * An authorization request with PKCE. Parameters that the sandbox doesn't need are ignored.
 * @see RFC 6749, section 4.1.1
 * @see RFC 7636, section 4.3
 */
const authorizationSchema = (clientId: string) =>
  v.object({
    response_type: v.literal('code'),
    client_id: v.literal(clientId),
    redirect_uri: v.picklist(redirectUris),
    state: v.optional(v.string()),
    nonce: v.optional(v.string()),
    code_challenge: v.pipe(v.string(), v.regex(/^[\w-]{43}$/)),
    code_challenge_method: v.literal('S256'),
  });
export type AuthorizationRequest = v.InferOutput<ReturnType<typeof authorizationSchema>>;

/**
 * Answers an authorization request with a page where a person signs in under any name, or cancels;
 * then with the way back to the app.
 * @param issueCode makes the code for a person
 * @throws ValiError that names a wrong parameter
 */
export async function signIn(
  clientId: string,
  request: IncomingMessage,
  response: ServerResponse,
  issueCode: (subject: string, asked: AuthorizationRequest) => Promise<string>,
): Promise<void> {
  const { searchParams } = new URL(request.url ?? '', 'http://sandbox');
  const asked = v.parse(authorizationSchema(clientId), Object.fromEntries(searchParams));
  if (request.method !== 'POST') {
    const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' };
    response.writeHead(200, headers).end(page);
    return;
  }
  const form = new URLSearchParams(await text(request));
  const back = new URL(asked.redirect_uri);
  if (asked.state !== undefined) back.searchParams.set('state', asked.state);
  const subject = form.get('subject');
  if (form.has('cancel') || !subject) back.searchParams.set('error', 'access_denied');
  else back.searchParams.set('code', await issueCode(subject, asked));
  response.writeHead(303, { location: back.href }).end();
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Sandbox</title>
<h1>Sign in at the sandbox</h1>
<form method="post">
  <p><label>Your name: <input name="subject" value="alice" autofocus></label></p>
  <p><button>Sign in</button> <button name="cancel" value="true">Cancel</button></p>
</form>
</html>
`;
