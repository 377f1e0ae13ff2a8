/** Lines with something in them. */
export const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** `name=value` in lines, as forms have labels. */
export const labelsText = (labels: Record<string, string>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

export const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    lines(text).map((line) => {
      const [name = "", ...value] = line.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );

export const areLabels = (text: string) => lines(text).every((line) => /^[^=\s]+=[^=\s]*$/.test(line));
