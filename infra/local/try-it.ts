import type { Demo } from './demo.ts';

/** Lines to paste into a shell: all five operations with curl and sed alone, each with what the one before returned. */
export const tryIt = ({ base_url, sandbox_url, login_app, account, access_request_id }: Demo): string => `\
BASE=${base_url}
SANDBOX=${sandbox_url}
CLIENT='${login_app.client_id}:${login_app.client_secret}'
ACCOUNT='${account.account_id}:${account.account_secret}'
field() { sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }

# What the app on alice's phone gets from a provider
ID_TOKEN=$(curl -s "$SANDBOX/provider_f/credentials?subject=alice" | field id_token)
CODE=$(curl -s "$SANDBOX/provider_b/credentials?subject=alice" | field authorization_code)

# 1. Trade a provider credential for a Login User Token
LOGIN=$(curl -s -u "$CLIENT" "$BASE/v2/marketing/oauth/token" \\
  -d grant_type=provider_credentials -d provider=provider_f -d "id_token=$ID_TOKEN"); echo "$LOGIN"
USER_TOKEN=$(echo "$LOGIN" | field access_token)

# 2. Trade an authorization code for a Login User Token
curl -s -u "$CLIENT" "$BASE/v2/marketing/oauth/token" \\
  -d grant_type=provider_authorization_code -d provider=provider_b -d "authorization_code=$CODE"; echo

# 3. Register a device, with a Login App Token
APP_TOKEN=$(curl -s -u "$CLIENT" "$BASE/v2/marketing/oauth/token" \\
  -d grant_type=client_credentials | field access_token)
DEVICE=$(curl -s "$BASE/v2/marketing/push_notifications/devices" -H "Authorization: Bearer $APP_TOKEN" \\
  -H 'Content-Type: application/json' -d '{"device":{"platform":"android","token":"alices-phone"}}'); echo "$DEVICE"
DEVICE_ID=$(echo "$DEVICE" | field id)

# 4. Relate the device to alice
curl -s "$BASE/v2/marketing/login/user/push_notifications/devices" -H "Authorization: Bearer $USER_TOKEN" \\
  -H 'Content-Type: application/json' -d "{\\"device_id\\":\\"$DEVICE_ID\\"}"; echo

# 5. Search the events of an access request
curl -s -u "$ACCOUNT" "$BASE/v1/rbac/access_requests/${access_request_id}/events?page_size=1&page=2"; echo
`;
