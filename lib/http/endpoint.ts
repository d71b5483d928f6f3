import type * as v from 'valibot';
import { requireEnvironmentInLambda } from '../foundation/environment.ts';
import type { ErrorCode, ErrorRecord } from '../foundation/service-error.ts';
import type { AuditedId } from '../log/request-fields.ts';
import type { ItemKind } from '../storage/keys.ts';
import type { Body } from './body.ts';

export type TableAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem';
export type TableRights = { [Kind in ItemKind]?: readonly TableAction[] };

/** The secrets of a deployment that a function may read. */
export type SecretName = 'signing-keys' | 'refresh-tokens' | 'provider-settings';

/** The purpose of a function, and all that it may touch. */
export interface Access {
  /** The description of the function, and of the endpoint in every list, on one line. */
  summary: string;
  /** Actions that it may do on items of each kind in the one table; nothing else is granted to it. @default none */
  table?: TableRights;
  /** The authentication of an endpoint's callers, which has rights of its own. */
  authenticate?: { table?: TableRights };
  /** Secrets that it may read. @default none */
  secrets?: readonly SecretName[];
  asksLoginHook?: true;
  /** After how many seconds it is stopped. @default 10: up to 3 s for a provider, a cold start, and retries of the store */
  seconds?: number;
}

export type SchemeName = 'login_app_client' | 'login_app_token' | 'login_user_token' | 'account' | 'none';

export interface Authentication<Caller> {
  scheme: SchemeName;
  /** The error of a caller who is not authenticated; absent where anybody may call. */
  error?: ErrorRecord & { code: ErrorCode };
  /** Another scheme of the API document that it takes; with `client_id`, the form alone says who calls. */
  alternative?: 'recipients_token' | 'dpop_proof' | 'client_id';
  /** The rights that it gives every endpoint with it. */
  table?: TableRights;
  /**
   * @param form reads the form of the request, before anything of it is checked
   * @throws ServiceError with that error
   */
  identify: (headers: RequestHeaders, form: () => URLSearchParams) => Promise<Caller>;
}

/** Headers of a request by their names in lower case. */
export type RequestHeaders = Record<string, string | undefined>;

/** The record of a function without a route; when Lambda loads it, its environment is checked, as `serve` does. */
export function accessOf(access: Access): Access {
  requireEnvironmentInLambda();
  return access;
}

type Tag = 'Tokens' | 'People' | 'Devices' | 'Access requests' | 'Metadata';

interface ResponseRecord {
  description: string;
  /** The schema of its JSON body; none for an empty response. */
  body?: v.GenericSchema;
  example?: unknown;
  /** Seconds for which anybody may cache it; without this nobody may. */
  cacheSeconds?: number;
  /** Requests that a client can make next with the response, by name. */
  links?: Record<string, Link>;
}

/** A request that takes its values from a response. @see OpenAPI 3.1.1, Link Object */
export interface Link {
  /** The file name of the endpoint that it calls. */
  operationId: string;
  description: string;
  /** Runtime expressions such as `$response.body#/id`, by the names of the parameters. */
  parameters?: Record<string, string>;
  /** The body, with a runtime expression in the place of each value that the response has. */
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
  /** False where this one answer must not be cached. @default what the record says */
  mayBeCached?: boolean;
}

/** The answer of an endpoint's handler: one of the documented statuses with its body. */
type Answer<R extends Responses> = {
  [Status in keyof R & number]: AnyAnswer & { status: Status; body: BodyOf<R[Status]> };
}[keyof R & number];

/** Schemas of the parameters by where they stand; each reads text, those of the query a list with each value that was sent. */
export type ParameterSchemas = { [place in 'path' | 'query' | 'headers']?: v.ObjectEntries };

/** A request as a handler gets it, each part as its schema has read it. */
interface EndpointRequest<Caller, Schemas extends ParameterSchemas, Content> {
  caller: Caller;
  path: Outputs<Schemas['path']>;
  query: Outputs<Schemas['query']>;
  headers: Outputs<Schemas['headers']>;
  body: Content;
}

/**
 * Everything about one endpoint. The chain that serves it, the local gateway, the CDK stack, the event files for
 * `sam local invoke` and the tables of the docs all read this record; it stands in the handler's file.
 */
export interface Endpoint<Caller, Schemas extends ParameterSchemas, Content, R extends Responses>
  extends Access {
  method: 'GET' | 'POST' | 'DELETE';
  /** The path as API Gateway writes it: `{name}` stands for one segment. */
  path: string;
  tag: Tag;
  /** Knowledge that a client developer needs beyond the summary, in Markdown. */
  description: string;
  /** The authentication of callers; anybody else gets a 401 before the rest of the request is looked at. */
  authenticate: Authentication<Caller>;
  /**
   * A malformed parameter, and a query parameter that is not listed, are 400 `invalid_request`. An endpoint without `query`
   * ignores the query.
   */
  parameters?: Schemas;
  /** Parser and schema of the body, and the error that a malformed one is. */
  body?: Body<Content>;
  responses: R;
  /** Every error of the endpoint's own; those of its authentication and 500 come on top. */
  errors?: Partial<Record<ErrorCode, ErrorRecord>>;
  /** The log event of an error response. @default 'request_refused' */
  errorEvent?: 'token_refused' | 'request_refused';
  /** Whether a request may change anything, and so is audited. @default unless the method is GET */
  writes?: false;
  /** The name that the `id` of a response has in the audit line. */
  idIs?: AuditedId;
  /** The varying parts of a request that the docs and the event file show. Credentials are placeholders such as `CLIENT_ID`. */
  example?: ExampleRequest;
  handle: (request: EndpointRequest<Caller, Schemas, Content>) => Promise<Answer<R>>;
}

export interface ExampleRequest {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** The fields of a form, or a JSON value. */
  body?: Record<string, unknown>;
  /** Bodies of an endpoint that takes several forms, one of each, by name. The event file holds the first. */
  bodies?: Record<string, Record<string, unknown>>;
}

/** An endpoint whatever its types are, for what reads the records without serving requests. */
export type AnyEndpoint = Omit<Endpoint<unknown, ParameterSchemas, unknown, Responses>, 'handle'>;

/** Every endpoint is audited unless its method or its record says that it doesn't write, so no new one is forgotten. */
export const isAudited = ({ method, writes }: Pick<AnyEndpoint, 'method' | 'writes'>): boolean =>
  method !== 'GET' && writes !== false;
