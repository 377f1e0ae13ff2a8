import type { Page } from "@playwright/test";
import type { Person } from "../fixtures";

export interface Picture {
  name: string;
  path: string;
  person?: Person;
  /** What is opened before. Names are found in both languages by their place, so this uses roles only. */
  open?: (page: Page) => Promise<void>;
  /** The window alone: what floats closes when the window grows to the page. */
  whole?: false;
}

/** On a narrow screen it is behind a button. */
export async function openSidebar(page: Page) {
  if ((page.viewportSize()?.width ?? 0) < 500) await page.getByRole("banner").getByRole("button").click();
}
