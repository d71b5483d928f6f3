import { registerHooks } from 'node:module';
import { join } from 'node:path';

// Every loading gets the project's own modules anew.
let loadings = 0;
registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const isOurs = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/');
    return isOurs ? { ...resolved, url: `${resolved.url.replace(/\?.*/, '')}?${loadings}` } : resolved;
  },
});

// Loads the token function in each environment, and prints what it throws, or else empty texts.
const environments: Record<string, string>[] = JSON.parse(process.argv[2] ?? '[]');
const outcomes: string[] = [];
for (const environment of environments) {
  loadings += 1;
  process.env = { AWS_REGION: 'us-east-1', AWS_LAMBDA_FUNCTION_NAME: 'issue-token', ...environment };
  const loaded = import(join(import.meta.dirname, '../../functions/issue-token.ts'));
  outcomes.push(await loaded.then(() => '', String));
}
process.stdout.write(JSON.stringify(outcomes));
