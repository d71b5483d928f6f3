/** The description of every stack of the service. `npm run operator` recognises them by it. */
export const stackDescription = 'A login and access-request service';
