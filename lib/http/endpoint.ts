import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import type * as v from 'valibot';
import { withLogFields } from '../log.ts';
import type { Refuse } from '../validation.ts';
import { type Answer, jsonResponse } from './answers.ts';
import { renderErrors } from './errors.ts';
import { validate } from './validate.ts';

/** The gateway's event, with what the steps before the handler have made of it. */
export interface ApiEvent<Caller = unknown, Input = unknown> extends APIGatewayProxyEventV2 {
  /** As the body parsers type it; a request may come without one, which they refuse. */
  body: string;
  caller: Caller;
  input: Input;
}

/** One step of the chain. */
export type Step<Caller = unknown> = MiddlewareObj<ApiEvent<Caller>, APIGatewayProxyStructuredResultV2>;

/** What an endpoint is made of, in the order in which a request passes. */
interface Endpoint<Caller, Schema extends v.GenericSchema> {
  /** Who is calling? Answers 401 before anything else of the request is looked at. */
  authenticate: Step<Caller>;
  /** Makes the raw input of the event. */
  parse: Step | Step[];
  /** What the input must be. */
  input: Schema;
  /** How an input of another form is refused. */
  refuse: Refuse;
  handle: (event: { caller: Caller; input: v.InferOutput<Schema> }) => Promise<Answer>;
}

/** The one chain of every endpoint: authenticate, parse, validate, handle, render. */
export function endpoint<Caller, Schema extends v.GenericSchema>(steps: Endpoint<Caller, Schema>) {
  const chain = middy<ApiEvent<Caller, v.InferOutput<Schema>>, APIGatewayProxyStructuredResultV2>()
    .use(renderErrors(steps.refuse))
    .use(steps.authenticate)
    .use(steps.parse)
    .use(validate(steps.input, steps.refuse))
    .handler(async (event) => jsonResponse(await steps.handle(event), event.requestContext.requestId));

  return (event: ApiEvent<Caller, v.InferOutput<Schema>>, context: Context) => {
    const { requestId, routeKey } = event.requestContext;
    return withLogFields({ request_id: requestId, route: routeKey }, () => chain(event, context));
  };
}
