/** The tests of lost answers once more, with answers that never come. */
process.env.LOST_ANSWERS = 'answer stalls';
await import('./lost-answers.slow.test.ts');

export {};
