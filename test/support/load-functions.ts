import { registerHooks } from 'node:module';
import { join } from 'node:path';

/** A function, and all that its environment holds when it is loaded. */
export interface Loading {
  key: string;
  environment: Record<string, string>;
}

// Every loading gets the project's own modules anew.
let loadings = 0;
registerHooks({
  resolve: (specifier, context, next) => {
    const resolved = next(specifier, context);
    const isOurs = resolved.url.startsWith('file:') && !resolved.url.includes('/node_modules/');
    return isOurs ? { ...resolved, url: `${resolved.url.replace(/\?.*/, '')}?${loadings}` } : resolved;
  },
});

/** Loads a function; what it throws, or else an empty text. */
async function load({ key, environment }: Loading): Promise<string> {
  loadings += 1;
  process.env = { AWS_REGION: 'us-east-1', AWS_LAMBDA_FUNCTION_NAME: key, ...environment };
  try {
    await import(join(import.meta.dirname, `../../functions/${key}.ts`));
    return '';
  } catch (error) {
    return String(error);
  }
}

const wanted: Loading[] = JSON.parse(process.argv[2] ?? '[]');
const outcomes: string[] = [];
for (const loading of wanted) outcomes.push(await load(loading));
process.stdout.write(JSON.stringify(outcomes));
