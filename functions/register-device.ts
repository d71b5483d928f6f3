import { registrationRequestSchema } from '../lib/devices/new-device.ts';
import { registerDevice, registeredDeviceSchema } from '../lib/devices/register-device.ts';
import { loginAppToken } from '../lib/http/auth/login-app-token.ts';
import { json } from '../lib/http/body.ts';
import { created, ok, serve } from '../lib/http/serve.ts';
import { invalidFieldsOf } from '../lib/schema/validation.ts';

const registered = {
  body: registeredDeviceSchema,
  example: { id: 'd_XwZ30yeACRUPZ7uhn2HMRtKmP4tggv6G4s-UnQ2ff4M' },
  links: {
    Relate: {
      operationId: 'relate-device',
      description: 'When a person has logged in on the device, link it to them.',
      requestBody: { device_id: '$response.body#/id' },
    },
  },
};

export const { endpoint, handler } = serve({
  route: 'POST /v2/marketing/push_notifications/devices',
  isBusy: true,
  authenticate: loginAppToken,
  body: json(registrationRequestSchema, invalidFieldsOf('device')),
  table: { devices: ['GetItem', 'BatchGetItem', 'UpdateItem'] },
  idIs: 'device_id',
  handle: async ({ caller, body }) => {
    const { id, isCreated } = await registerDevice(caller.loginAppId, body.device);
    return isCreated ? created({ id }) : ok({ id });
  },
  document: !process.env.BUNDLED && {
    summary: 'Registers a device for push notifications',
    description:
      'Call it at every start of the app: the same push token is the same device, and each registration says that the device was seen. A device that is not seen for 270 days gets no more messages. The service forgets the optional fields that a registration leaves out. With an `installation_id`, a registration with a new token replaces the device that the installation had, and takes over its person: whoever knows the id could do that, so make it random and send it nowhere else.',
    tag: 'Devices',
    responses: {
      201: { description: 'The device was registered for the first time.', ...registered },
      200: { description: 'The device had been registered before.', ...registered },
    },
    errors: {
      invalid_request: {
        when: 'The body is not JSON, or `device` is missing or not an object.',
        example: 'device must be a JSON object with the fields token and platform.',
      },
      not_found: {
        when: 'The Login App has no mobile application for the platform.',
        example: 'The Login App has no mobile application for ios.',
      },
      unprocessable_entity: {
        when: 'Fields of `device` are invalid.',
        example: 'device.platform must be ios or android.',
        field: 'device.platform',
      },
    },
    example: {
      body: {
        device: {
          token: '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad',
          platform: 'ios',
          environment: 'sandbox',
          locale: 'de-AT',
          app_version: '4.2.0',
          installation_id: '8d1f3a52-6f0e-4a53-9a0c-2f9f4a1f2c77',
        },
      },
    },
  },
});
