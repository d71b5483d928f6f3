/** The description of every stack of the service. `npm run operator` recognises them by it. */
export const stackDescription = 'A login and access-request service';

/** The output of every stack of the service that says which version of the code was deployed. */
export const versionOutput = 'Version';

/** The tag that CloudFormation gives to the stacks of a deployment and to all their resources: the deployed version. */
export const versionTag = 'login-service:version';
