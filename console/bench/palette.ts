import type { Visit } from "./browser.ts";

export interface Palette {
  /** Milliseconds from the keys until the palette is drawn. */
  opened: number;
  /** From the last key of an instance's name until the instance is drawn as a result. */
  found: number;
}

/** Milliseconds from an event of the page until an element of this role with this text is drawn. */
function untilDrawn({ page }: Visit, event: "keydown" | "input", role: string, text: string) {
  return page.evaluate(
    ([event, role, text]) => {
      Object.assign(window, {
        drawn: new Promise<number>((resolve) => {
          const begun = ({ timeStamp }: Event) => {
            const look = () => {
              const all = [...document.querySelectorAll(`[role="${role}"]`)];
              if (!all.some((it) => it.textContent?.includes(text))) return false;
              observer.disconnect();
              requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - timeStamp)));
              return true;
            };
            const observer = new MutationObserver(look);
            observer.observe(document, { childList: true, subtree: true, characterData: true });
            look();
          };
          addEventListener(event, begun, { capture: true, once: true });
        }),
      });
    },
    [event, role, text] as const,
  );
}

const drawn = ({ page }: Visit) =>
  page.evaluate(() => (window as unknown as { drawn: Promise<number> }).drawn);

/** Opens the palette and finds an instance that the page has not read. */
export async function find(it: Visit, name: string): Promise<Palette> {
  const { page } = it;
  await untilDrawn(it, "keydown", "listbox", "");
  await page.keyboard.press("Control+k");
  const opened = await drawn(it);
  const field = page.getByRole("combobox", { name: "Search and commands" });
  // one letter is not searched for
  await field.fill(name.slice(0, 1));
  await it.settled();
  if (await page.getByRole("option", { name }).count()) throw new Error(`${name} is known already`);
  await untilDrawn(it, "input", "option", name);
  await page.keyboard.insertText(name.slice(1));
  const found = await drawn(it);
  await page.keyboard.press("Escape");
  await field.waitFor({ state: "detached" });
  return { opened, found };
}
