/** What the API answers a `call` with. */
export const JSON_ANSWERS = "application/json, application/problem+json";

/** What the first page reads, by its address; null before it is asked for. */
const asked = new Map<string, Promise<Response> | null>();

/**
 * Asks for what the first page reads, while its code is on its way: `call` takes the answer. What has to be asked for after
 * something else is left to `call` if that comes first.
 */
export function askEarly(url: string, after?: Promise<unknown>) {
  const ask = () => {
    const answer = fetch(url, { headers: { accept: JSON_ANSWERS }, credentials: "same-origin" });
    // it is `call` that says so
    answer.catch(() => undefined);
    asked.set(url, answer);
  };
  if (!after) return ask();
  asked.set(url, null);
  after.then(
    () => asked.has(url) && ask(),
    () => undefined,
  );
}

/** The answer that was asked for early, once. */
export function takeEarly(url: string): Promise<Response> | undefined {
  const answer = asked.get(url);
  asked.delete(url);
  return answer ?? undefined;
}

/** The first page is there, or another one comes instead: what was not taken is old. */
export const endEarly = () => asked.clear();
