import { token, url, type Visit } from "./browser.ts";

export interface Heard {
  /** Milliseconds from the moment before a change is sent until it is drawn on the page of somebody else. */
  sinceSent: number;
  /** From the answer to the change: negative if the page is first. */
  sinceAnswered: number;
}

/** The time by the clock of the machine, which both sides share. */
const now = () => performance.timeOrigin + performance.now();

/** Gives the newest stopped instance other names, and waits for each on the page. */
export async function rename({ page }: Visit, times: number): Promise<Heard[]> {
  const authorization = `Bearer ${await token()}`;
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers: { authorization } });
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    return { body: await answer.json(), etag: answer.headers.get("etag") ?? "" };
  };
  const { body: list } = await read("/v1/instances?state=stopped&limit=1");
  const path = `/v1/instances/${list.items[0].id}`;
  const heard: Heard[] = [];
  for (let n = 0; n < times; n++) {
    const name = `renamed-${n}`;
    const { etag } = await read(path);
    await page.evaluate((name) => {
      Object.assign(window, {
        heard: new Promise<number>((resolve) => {
          const observer = new MutationObserver(() => {
            if (![...document.querySelectorAll("a")].some((it) => it.textContent === name)) return;
            observer.disconnect();
            requestAnimationFrame(() =>
              setTimeout(() => resolve(performance.timeOrigin + performance.now())),
            );
          });
          observer.observe(document, { childList: true, subtree: true, characterData: true });
        }),
      });
    }, name);
    const sent = now();
    const answer = await fetch(`${url}${path}`, {
      method: "PATCH",
      headers: {
        authorization,
        "content-type": "application/json",
        "if-match": etag,
        "idempotency-key": crypto.randomUUID(),
      },
      body: JSON.stringify({ name }),
    });
    const answered = now();
    if (!answer.ok) throw new Error(`the change was answered with ${answer.status}`);
    const drawn = await page.evaluate(() => (window as unknown as { heard: Promise<number> }).heard);
    heard.push({ sinceSent: drawn - sent, sinceAnswered: drawn - answered });
  }
  return heard;
}
