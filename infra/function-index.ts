// Written by npm run generate.
import * as addComment from '../functions/add-comment.ts';
import * as addReview from '../functions/add-review.ts';
import * as awaitSigningKeys from '../functions/await-signing-keys.ts';
import * as checkNewVersions from '../functions/check-new-versions.ts';
import * as createAccessRequest from '../functions/create-access-request.ts';
import * as deleteLoginUser from '../functions/delete-login-user.ts';
import * as describeApi from '../functions/describe-api.ts';
import * as describeOpenidServer from '../functions/describe-openid-server.ts';
import * as describeServer from '../functions/describe-server.ts';
import * as disableDevice from '../functions/disable-device.ts';
import * as endAllSessions from '../functions/end-all-sessions.ts';
import * as endDeviceRelation from '../functions/end-device-relation.ts';
import * as endSession from '../functions/end-session.ts';
import * as finishDeletions from '../functions/finish-deletions.ts';
import * as forwardAudit from '../functions/forward-audit.ts';
import * as guardTableFormat from '../functions/guard-table-format.ts';
import * as introspectToken from '../functions/introspect-token.ts';
import * as issueNonce from '../functions/issue-nonce.ts';
import * as issueToken from '../functions/issue-token.ts';
import * as linkIdentity from '../functions/link-identity.ts';
import * as listDevices from '../functions/list-devices.ts';
import * as listProviders from '../functions/list-providers.ts';
import * as listRecipients from '../functions/list-recipients.ts';
import * as listSessions from '../functions/list-sessions.ts';
import * as listSigningKeys from '../functions/list-signing-keys.ts';
import * as mergeLoginUsers from '../functions/merge-login-users.ts';
import * as operator from '../functions/operator.ts';
import * as publishEvents from '../functions/publish-events.ts';
import * as receiveNotification from '../functions/receive-notification.ts';
import * as registerDevice from '../functions/register-device.ts';
import * as relateDevice from '../functions/relate-device.ts';
import * as revokeToken from '../functions/revoke-token.ts';
import * as rotateServiceSecrets from '../functions/rotate-service-secrets.ts';
import * as rotateSigningKeys from '../functions/rotate-signing-keys.ts';
import * as searchAccessRequests from '../functions/search-access-requests.ts';
import * as searchEvents from '../functions/search-events.ts';
import * as searchReviews from '../functions/search-reviews.ts';
import * as showAccessRequest from '../functions/show-access-request.ts';
import * as showLoginUser from '../functions/show-login-user.ts';
import * as unlinkIdentity from '../functions/unlink-identity.ts';

/** The module of each function, by the name of its file. */
export const functions = {
  'add-comment': addComment,
  'add-review': addReview,
  'await-signing-keys': awaitSigningKeys,
  'check-new-versions': checkNewVersions,
  'create-access-request': createAccessRequest,
  'delete-login-user': deleteLoginUser,
  'describe-api': describeApi,
  'describe-openid-server': describeOpenidServer,
  'describe-server': describeServer,
  'disable-device': disableDevice,
  'end-all-sessions': endAllSessions,
  'end-device-relation': endDeviceRelation,
  'end-session': endSession,
  'finish-deletions': finishDeletions,
  'forward-audit': forwardAudit,
  'guard-table-format': guardTableFormat,
  'introspect-token': introspectToken,
  'issue-nonce': issueNonce,
  'issue-token': issueToken,
  'link-identity': linkIdentity,
  'list-devices': listDevices,
  'list-providers': listProviders,
  'list-recipients': listRecipients,
  'list-sessions': listSessions,
  'list-signing-keys': listSigningKeys,
  'merge-login-users': mergeLoginUsers,
  operator,
  'publish-events': publishEvents,
  'receive-notification': receiveNotification,
  'register-device': registerDevice,
  'relate-device': relateDevice,
  'revoke-token': revokeToken,
  'rotate-service-secrets': rotateServiceSecrets,
  'rotate-signing-keys': rotateSigningKeys,
  'search-access-requests': searchAccessRequests,
  'search-events': searchEvents,
  'search-reviews': searchReviews,
  'show-access-request': showAccessRequest,
  'show-login-user': showLoginUser,
  'unlink-identity': unlinkIdentity,
};
