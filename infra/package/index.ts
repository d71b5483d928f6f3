export { SettingsError } from '../settings/settings.ts';
export { Edge } from '../stack/edge.ts';
export { LoginService, type LoginServiceProps } from '../stack/login-service.ts';
