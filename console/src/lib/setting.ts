/** A setting of this browser. Browsers that refuse storage forget it with the page. */
export function readSetting(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function writeSetting(key: string, value: string) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // private windows of some browsers: the setting lasts as long as the page
  }
}
