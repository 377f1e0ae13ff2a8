/**
 * Some libraries write their styles into <style> elements and `style` attributes, which the content policy refuses.
 * What the policy allows is CSSOM: the same, set from a script.
 */

/**
 * While `run` runs, <style> elements get a constructed sheet behind them instead. Gives what takes the sheets away
 * again.
 */
export function adoptingStyles(run: () => void): () => void {
  const sheets: CSSStyleSheet[] = [];
  const original = document.createElement;
  const create = (name: string, options?: ElementCreationOptions) => {
    const isStyle = name.toLowerCase() === "style";
    // not even an empty <style> passes without a report: an inert element takes its place
    const element = original.call(document, isStyle ? "template" : name, options);
    if (!isStyle) return element;
    const sheet = new CSSStyleSheet();
    sheets.push(sheet);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    Object.defineProperty(element, "textContent", {
      set: (text: string) => sheet.replaceSync(text),
      get: () => "",
    });
    return element;
  };
  document.createElement = create as typeof document.createElement;
  try {
    run();
  } finally {
    document.createElement = original;
  }
  return () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
  };
}

/** From now on, `style` attributes that scripts give to spans are set as CSSOM: the same in effect. */
export function styleSpansByScript() {
  HTMLSpanElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else Element.prototype.setAttribute.call(this, name, value);
  };
}
