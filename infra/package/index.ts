import './require-node.ts';

export { Edge } from '../stack/edge.ts';
export { LoginService } from '../stack/login-service.ts';
export { PropError } from '../stack/prop-error.ts';
export type { LoginServiceProps } from '../stack/service-props.ts';
export { tableShape } from '../stack/table-shape.ts';
