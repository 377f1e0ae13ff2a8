/** The largest size of a storage in GiB. */
const LARGEST = 1_048_576;

export const isSize = (text: string) => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= LARGEST;

/** At least 0, below a million, with at most 8 digits after the point. */
export const isStoragePrice = (text: string) => /^\d{1,6}(\.\d{1,8})?$/.test(text);
