import type * as v from 'valibot';
import { requireEnvironmentInLambda } from '../foundation/environment.ts';
import type { ErrorCode, ErrorRecord } from '../foundation/service-error.ts';
import type { AuditedId } from '../log/request-fields.ts';
import type { ItemKind } from '../storage/keys.ts';
import type { Body, Form } from './body.ts';

/** An action of IAM. A transaction needs that of each of its writes. */
export type TableAction =
  | 'GetItem'
  | 'BatchGetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';
export type TableRights = { [Kind in ItemKind]?: readonly TableAction[] };

/** The secrets of a deployment that a function may read. */
export type SecretName = 'signing-keys' | 'refresh-tokens' | 'provider-settings';

/** The rights of a function on the table, secrets and the login hook, and its timeout. */
export interface Access {
  /**
   * Actions on each kind of item.
   * @default none
   */
  table?: TableRights;
  authenticate?: { table?: TableRights };
  secrets?: readonly SecretName[];
  asksLoginHook?: true;
  /** Whether it may call the addresses of providers, which are outside AWS. */
  callsProviders?: true;
  /**
   * The timeout.
   * @default 10: up to 3 s for a provider, a cold start, and retries of the store
   */
  seconds?: number;
}

/** The record of a function without a route. */
export interface FunctionRecord extends Access {
  /** The description of the function, on one line. */
  summary: string;
}

export type SchemeName =
  | 'login_app_client'
  | 'login_app_token'
  | 'login_user_token'
  | 'account'
  | 'none';

export interface Authentication<Caller> {
  scheme: SchemeName;
  /** The error for other callers; absent where anybody may call. */
  error?: ErrorRecord & { code: ErrorCode };
  /** Errors of endpoints for such callers, unless an endpoint's record has its own. */
  furtherErrors?: Partial<Record<ErrorCode, ErrorRecord>>;
  /** Another scheme of the API document; with `client_id`, the form alone says who calls. */
  alternative?: 'recipients_token' | 'dpop_proof' | 'client_id';
  /** The parameters of the form that it reads. */
  parameters?: readonly string[];
  table?: TableRights;
  /**
   * @param form the form, of which only the size is checked
   * @throws ServiceError with that error
   */
  identify: (headers: RequestHeaders, form: () => Form) => Promise<Caller>;
}

/** Headers by their names in lower case. */
export type RequestHeaders = Record<string, string | undefined>;

/** Returns the record of a function without a route, and checks its environment as `serve` does. */
export function accessOf(access: FunctionRecord): FunctionRecord {
  requireEnvironmentInLambda();
  return access;
}

interface ResponseRecord {
  description: string;
  body?: v.GenericSchema;
  example?: unknown;
  /** Requests that can follow, by name. */
  links?: Record<string, Link>;
}

/**
 * A request that takes its values from a response.
 * @see OpenAPI 3.1.1, Link Object
 */
export interface Link {
  /** The file name of the endpoint that it calls. */
  operationId: string;
  description: string;
  /** Values, or runtime expressions such as `$response.body#/id`. */
  parameters?: Record<string, string>;
  requestBody?: Record<string, string>;
}

export type Responses = Record<number, ResponseRecord>;
export type Outputs<Entries extends v.ObjectEntries | undefined> = v.InferOutput<
  v.ObjectSchema<NonNullable<Entries>, undefined>
>;

type BodyOf<Response> = Response extends { body: infer Schema extends v.GenericSchema }
  ? v.InferInput<Schema>
  : undefined;

export interface AnyAnswer {
  status: number;
  body?: unknown;
  /** Further headers, by their names in lower case. */
  headers?: Record<string, string> | undefined;
  /** False if this answer must not be cached, whatever the record says. */
  mayBeCached?: boolean;
}

/** The answer of a handler: a documented status with its body. */
type Answer<R extends Responses> = {
  [Status in keyof R & number]: AnyAnswer & { status: Status; body: BodyOf<R[Status]> };
}[keyof R & number];

/** Schemas of the parameters, which read text, or in the query a list of texts. */
export type ParameterSchemas = { [place in 'path' | 'query' | 'headers']?: v.ObjectEntries };

/** A request as a handler gets it. */
interface EndpointRequest<Caller, Schemas extends ParameterSchemas, Content> {
  caller: Caller;
  path: Outputs<Schemas['path']>;
  query: Outputs<Schemas['query']>;
  headers: Outputs<Schemas['headers']>;
  body: Content;
}

/**
 * Everything about an endpoint: first what serves its requests, then its document. Its handler, the
 * local gateway, the CDK stack, the docs and the event files read it.
 */
export interface Endpoint<Caller, Schemas extends ParameterSchemas, Content, R extends Responses>
  extends Access {
  /** As API Gateway writes it: `{name}` is one segment. */
  route: `${'GET' | 'POST' | 'DELETE'} /${string}`;
  authenticate: Authentication<Caller>;
  /**
   * Malformed and, in the query, unknown ones are 400 `invalid_request`. Without `query`, the query
   * is ignored.
   */
  parameters?: Schemas;
  body?: Body<Content>;
  /**
   * The log event of an error response.
   * @default 'request_refused'
   */
  errorEvent?: 'token_refused' | 'request_refused';
  /**
   * Only what may write is audited.
   * @default unless the method is GET
   */
  writes?: false;
  /** The name of the response's `id` in the audit line. */
  idIs?: AuditedId;
  /**
   * Seconds that anybody may cache an answer that is no error.
   * @default none
   */
  cacheSeconds?: number;
  /**
   * Whether it gets so many requests that a tenth of them tell whether a new version works. A
   * canary tries it then.
   * @default all requests at once, after the trial of new versions
   */
  isBusy?: true;
  handle: (request: EndpointRequest<Caller, Schemas, Content>) => Promise<Answer<R>>;
  /**
   * Absent in Lambda, which never reads it: esbuild puts `true` in place of `process.env.BUNDLED`,
   * and drops what comes after `!process.env.BUNDLED &&` with all that only documents use.
   */
  document: EndpointDocument<R> | false;
}

/** An endpoint as the API document, the pages and the event files describe it. */
interface EndpointDocument<R extends Responses> {
  /** The description of the function, and of the endpoint in every list, on one line. */
  summary: string;
  /** More than the summary, in Markdown. */
  description: string;
  tag: 'Tokens' | 'People' | 'Devices' | 'Access requests' | 'Metadata';
  responses: R;
  /** Errors besides 500 and those of its authentication. */
  errors?: Partial<Record<ErrorCode, ErrorRecord>>;
  /**
   * A request for the docs and the event file. Credentials are placeholders such as `CLIENT_ID`.
   */
  example?: ExampleRequest;
  /**
   * The status that the example must get in the trial of new versions. A GET is sent with valid
   * credentials, but no id exists there except that of the access request, so most with an id need
   * 404.
   * @default a GET's success; otherwise 401, since the credentials are placeholders, or 400 without
   *   authentication
   */
  trialStatus?: number;
}

export interface ExampleRequest {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** The fields of a form, or a JSON value. */
  body?: Record<string, unknown>;
  /** One body of each form, by name. The event file holds the first. */
  bodies?: Record<string, Record<string, unknown>>;
}

/** An endpoint with any types, for code that runs in Lambda, where endpoints have no document. */
export type RunningEndpoint = Omit<
  Endpoint<unknown, ParameterSchemas, unknown, Responses>,
  'handle' | 'document'
>;

/** An endpoint with any types, for code that doesn't serve requests. */
export interface AnyEndpoint extends RunningEndpoint {
  document: EndpointDocument<Responses>;
}

export const isAudited = ({ route, writes }: Pick<RunningEndpoint, 'route' | 'writes'>): boolean =>
  !route.startsWith('GET ') && writes !== false;
