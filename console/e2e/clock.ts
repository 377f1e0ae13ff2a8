/**
 * Runs the stories at another time, such as the last minute of a month: `CLOCK=2026-12-31T23:58:00Z npm run e2e`.
 * The stand-in, the stories and their pages move together.
 */
const clock = process.env.CLOCK;
// the first process decides, so that all are as far ahead
process.env.CLOCK_AHEAD ??= String(clock ? Date.parse(clock) - Date.now() : 0);

/** Milliseconds. */
export const ahead = Number(process.env.CLOCK_AHEAD);

/** Runs in pages too, so it may use nothing of this file. */
export function moveClock(ahead: number) {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...at: [] | [number]) {
      if (at.length === 0) super(Real.now() + ahead);
      else super(...at);
    }
    static override now() {
      return Real.now() + ahead;
    }
  } as DateConstructor;
}

if (ahead) moveClock(ahead);
