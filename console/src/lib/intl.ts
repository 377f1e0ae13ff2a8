/** To make a formatter costs a hundred times what its use does: each is made once. */
function kept<Options, Formatter>(make: (language: string, options: Options | undefined) => Formatter) {
  const made = new Map<string, Formatter>();
  return (language: string, options?: Options): Formatter => {
    const key = `${language} ${JSON.stringify(options)}`;
    const known = made.get(key);
    if (known) return known;
    const formatter = make(language, options);
    made.set(key, formatter);
    return formatter;
  };
}

export const numberFormat = kept(
  (language, options: Intl.NumberFormatOptions | undefined) => new Intl.NumberFormat(language, options),
);

export const dateFormat = kept(
  (language, options: Intl.DateTimeFormatOptions | undefined) => new Intl.DateTimeFormat(language, options),
);

/** Digits in groups of three: both languages write them so. */
export const inGroups = (digits: string) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

/** "1,234". Whole numbers need no formatter: the first one of a page costs as much as several rows of a list. */
export const formatNumber = (value: number, language: string): string =>
  Number.isSafeInteger(value) && value >= 0 ? inGroups(String(value)) : numberFormat(language).format(value);

/** "A, B and C": one alone needs no formatter. */
export const formatList = (items: readonly string[], language: string): string =>
  items.length < 2 ? (items[0] ?? "") : new Intl.ListFormat(language).format(items);
