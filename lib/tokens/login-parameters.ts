import * as v from 'valibot';
import { required } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { isPlainText } from '../schema/plain-text.ts';
import { clientIdParameter } from './dpop-proof.ts';

const sessionNameMessage =
  'The parameter session_name must have 1 to 64 characters, none of them a control character.';

/** The parameters of every grant that begins a session. */
export const loginParameters = {
  ...clientIdParameter,
  session_name: v.optional(
    v.pipe(
      required('session_name'),
      v.check((name) => isPlainText(name), sessionNameMessage),
      v.maxCodePoints(64, sessionNameMessage),
      jsonSchema({ type: 'string', minLength: 1, maxLength: 64 }),
      v.description(
        'A name by which the person recognizes the session in a list, such as that of their phone.',
      ),
    ),
  ),
};
