/** How many at a time: what many rows of a page ask for must not hold up what a person asks for. */
const TOGETHER = 4;

let running = 0;
const waiting: (() => void)[] = [];

/** Does it when it is its turn. */
export async function inTurn<Answer>(act: () => Promise<Answer>): Promise<Answer> {
  if (running >= TOGETHER) await new Promise<void>((resolve) => waiting.push(resolve));
  running++;
  try {
    return await act();
  } finally {
    running--;
    waiting.shift()?.();
  }
}
