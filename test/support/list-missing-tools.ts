import { missingPackages, tools } from './needed-tools.ts';
import { print } from './steps.ts';

// Prints the Debian packages of the tools that the checks need and this machine lacks, on one line.
print((await missingPackages(Object.values(tools))).join(' '));
