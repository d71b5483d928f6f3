// Preloaded into a service, whose clock then goes wrong by so many milliseconds, also for what asks the system itself.
const offset = Number(process.env.CLOCK_OFFSET);
const realNow = Date.now.bind(Date);
const now = () => realNow() + offset;
globalThis.Date = new Proxy(Date, {
  construct: (target, given, asked) => Reflect.construct(target, given.length > 0 ? given : [now()], asked),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
