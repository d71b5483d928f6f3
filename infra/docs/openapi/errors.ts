import type { JsonSchema } from '@valibot/to-json-schema';
import {
  type ErrorRecord,
  type FurtherFields,
  statuses,
} from '../../../lib/foundation/service-error.ts';
import { challenges, retryAfterSeconds } from '../../../lib/http/answers.ts';
import { type AnyEndpoint, isAudited } from '../../../lib/http/endpoint.ts';
import { originError } from '../../../lib/http/origin-secret.ts';
import { pascal } from '../../endpoints.ts';
import { type Components, jsonSchemaOf, refTo } from './json-schema.ts';

type Json = Record<string, unknown>;

export const headerComponents = {
  RequestId: {
    description:
      'Identifies the request in the log of the service. Quote it when you ask for help.',
    required: true,
    schema: { type: 'string', minLength: 1 },
  },
  CacheControl: {
    description: '`no-store`, or for public metadata how long it may be cached.',
    required: true,
    schema: { type: 'string' },
  },
  Challenge: {
    description: 'The authentication scheme that would work (RFC 9110, section 11.6.1).',
    required: true,
    schema: { type: 'string', pattern: '^(Basic|Bearer) realm=' },
  },
  ProofNonce: {
    description: 'For a public client: the nonce of its next proof (RFC 9449, section 8).',
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds to wait before the request is sent again (RFC 9110, section 10.2.3).',
    required: true,
    schema: { type: 'string', pattern: '^[1-9][0-9]*$' },
  },
};

type HeaderName = keyof typeof headerComponents;
const headerRef = (name: HeaderName) => ({ $ref: `#/components/headers/${name}` });

/** Headers that every response of the service has. */
export const commonHeaders = {
  'x-request-id': headerRef('RequestId'),
  'Cache-Control': headerRef('CacheControl'),
};

/** The headers of a successful response to a client that may be public. */
export const headersWithProofNonce = { ...commonHeaders, 'DPoP-Nonce': headerRef('ProofNonce') };

/** The error of any endpoint that writes, unless it has one of its own. */
const othersWriteError: ErrorRecord = {
  when: 'Too many others are writing the same at once. Send the request again.',
  example: 'Too many are writing the same at once. Try again.',
};

/** The error responses of an endpoint, one for each status, with the codes that it can hold. */
export function errorsOf(endpoint: AnyEndpoint, received: Components): Json {
  const { authenticate, body, document } = endpoint;
  const ofWriters = isAudited(endpoint) ? { temporarily_unavailable: othersWriteError } : {};
  const errors = { ...ofWriters, ...authenticate.furtherErrors, ...document.errors };
  const { forbidden } = errors;
  const all: Record<string, ErrorRecord> = {
    ...errors,
    ...(authenticate.error && { [authenticate.error.code]: authenticate.error }),
    // Any endpoint may answer 403 to a request that does not come through CloudFront; some have a
    // 403 of their own.
    forbidden: forbidden
      ? { ...forbidden, when: `${forbidden.when} Or: ${originError.when}` }
      : originError,
    internal_server_error: {
      when: 'Something failed in the service or at the identity provider. Try again later.',
      example: 'Something failed on our side. Please quote the request id UbR0vhfEjoEEMaA=.',
    },
  };
  const statusOf = new Map<string, number>(Object.entries(statuses));
  const byStatus = Map.groupBy(Object.entries(all), ([code]) => statusOf.get(code) ?? 500);
  const responses: Json = {};
  for (const [status, errorsOfStatus] of byStatus) {
    responses[status] = responseOf(status, errorsOfStatus, body, received);
  }
  return responses;
}

/** The response of a status, with the errors that it can hold. */
function responseOf(
  status: number,
  errors: [code: string, ErrorRecord][],
  body: AnyEndpoint['body'],
  received: Components,
): Json {
  const codes = errors.map(([code]) => code);
  const further = Object.assign({}, ...errors.map(([, record]) => record.further));
  const isValidation = status === statuses.unprocessable_entity;
  const bodies = [errorSchema(codes, { isValidation, further }, received)];
  const descriptions = errors.map(([code, { when }]) => `\`${code}\`: ${when}`);

  if (status === statuses.invalid_request) {
    for (const { badRequest } of body?.others ?? []) {
      if (badRequest) bodies.push(jsonSchemaOf(badRequest.schema, received));
    }
  }

  const header = (name: HeaderName, isSent: boolean) => (isSent ? headerRef(name) : undefined);
  const hasChallenge = codes.some((code) => code in challenges);
  const hasRetryAfter = codes.some((code) => code in retryAfterSeconds);

  const examples = errors.map(([error, { example: message, field }]) => {
    const fields = field === undefined ? undefined : [{ field, message }];
    return [error, { value: { error, error_description: message, errors: fields } }];
  });

  return {
    description: descriptions.join('\n\n'),
    headers: {
      ...commonHeaders,
      'WWW-Authenticate': header('Challenge', hasChallenge),
      'DPoP-Nonce': header('ProofNonce', codes.includes('use_dpop_nonce')),
      'Retry-After': header('RetryAfter', hasRetryAfter),
    },
    content: {
      'application/json': {
        schema: bodies.length === 1 ? bodies[0] : { oneOf: bodies },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** The body of an error response: a component for each set of codes, and one for the set itself. */
function errorSchema(
  codes: string[],
  {
    isValidation,
    further,
  }: { isValidation: boolean; further: NonNullable<ErrorRecord['further']> },
  received: Components,
): JsonSchema {
  const ofCodes = codes.map((code) => pascal(code).replace(/Error$/, '')).join('Or');
  const fields = furtherSchemas(further);
  const name = [ofCodes, ...Object.keys(fields).map(pascal)].join('With');
  received.set(`${name}Code`, { type: 'string', enum: codes });
  received.set(`${name}Error`, {
    type: 'object',
    properties: {
      error: refTo(`${name}Code`),
      error_description: {
        type: 'string',
        description: 'What is wrong and what is allowed, for developers.',
      },
      ...(isValidation && { errors: fieldErrors }),
      ...fields,
    },
    required: isValidation
      ? ['error', 'error_description', 'errors']
      : ['error', 'error_description'],
  });
  return refTo(`${name}Error`);
}

const typesOfFurther = {
  merge_possible: { type: 'boolean', const: true },
  merged_into: { type: 'string' },
} as const satisfies Record<keyof FurtherFields, JsonSchema>;

/** The fields that only some errors have, which are optional. */
function furtherSchemas(further: NonNullable<ErrorRecord['further']>): Record<string, JsonSchema> {
  const { merge_possible, merged_into } = further;
  return {
    ...(merge_possible !== undefined && {
      merge_possible: { ...typesOfFurther.merge_possible, description: merge_possible },
    }),
    ...(merged_into !== undefined && {
      merged_into: { ...typesOfFurther.merged_into, description: merged_into },
    }),
  };
}

const fieldErrors: JsonSchema = {
  type: 'array',
  minItems: 1,
  description: 'Each field that is wrong.',
  items: {
    type: 'object',
    properties: { field: { type: 'string' }, message: { type: 'string' } },
    required: ['field', 'message'],
  },
};
