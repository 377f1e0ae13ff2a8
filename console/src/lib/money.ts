import { inGroups, numberFormat } from "./intl";

/** An amount in millionths of the currency's unit: decimal strings never pass through a float. */
export type Amount = bigint;

const MILLION = 1_000_000n;

export function parseAmount(text: string): Amount {
  const [, sign, whole = "0", part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (sign === undefined) throw new Error(`not an amount: ${text}`);
  const value = BigInt(whole) * MILLION + BigInt(part.slice(0, 6).padEnd(6, "0"));
  return sign ? -value : value;
}

/** What so many seconds cost, rounded down to a millionth. */
export const costOf = (pricePerHour: string, seconds: number): Amount =>
  (parseAmount(pricePerHour) * BigInt(Math.floor(seconds))) / 3600n;

/** What a whole day costs. */
export const perDay = (pricePerHour: string): Amount => parseAmount(pricePerHour) * 24n;

/** What 30 days cost. */
export const perMonth = (pricePerHour: string): Amount => perDay(pricePerHour) * 30n;

/** An amount times a decimal factor. */
export const times = (amount: Amount, factor: string): Amount => (amount * parseAmount(factor)) / MILLION;

/** Whether what is spent and what is added is more than the limit. */
export const isOver = (limit: string, used: string | undefined, added: string): boolean =>
  parseAmount(used ?? "0") + parseAmount(added) > parseAmount(limit);

/** How much of the whole it is: 0 to 1, to four digits; 1 of nothing. */
export const partOf = (part: string, whole: string): number => shareOf(parseAmount(part), parseAmount(whole));

export const shareOf = (part: Amount, whole: Amount): number =>
  whole > 0n ? Number((part * 10_000n) / whole) / 10_000 : 1;

const CENT = 10_000n;

/** The amount in whole cents. */
export const toCents = (amount: Amount): Amount => ((amount + CENT / 2n) / CENT) * CENT;

/**
 * Amounts in whole cents whose sum is that of the exact ones in whole cents: those with the largest rests are rounded up. So what
 * is shown adds up to the sum that is shown.
 */
export function inCents(amounts: readonly Amount[]): Amount[] {
  const sum = amounts.reduce((all, amount) => all + amount, 0n);
  const floors = amounts.map((amount) => amount / CENT);
  const missing = Number((sum + CENT / 2n) / CENT - floors.reduce((all, floor) => all + floor, 0n));
  const raised = new Set(
    amounts
      .map((amount, index) => ({ rest: amount % CENT, index }))
      .sort((a, b) => Number(b.rest - a.rest) || a.index - b.index)
      .slice(0, missing)
      .map(({ index }) => index),
  );
  return floors.map((floor, index) => (floor + (raised.has(index) ? 1n : 0n)) * CENT);
}

export const isSome = (amount: Amount | string): boolean =>
  (typeof amount === "string" ? parseAmount(amount) : amount) > 0n;

export const minus = (a: string, b: string): Amount => parseAmount(a) - parseAmount(b);

export const isNothing = (amount: string): boolean => parseAmount(amount) === 0n;

/** Sums of different currencies are never added. */
export type Totals = ReadonlyMap<string, Amount>;

export function totalOf<Item extends { currency: string }>(
  items: readonly Item[],
  amountOf: (item: Item) => Amount,
): Totals {
  const totals = new Map<string, Amount>();
  for (const it of items) totals.set(it.currency, (totals.get(it.currency) ?? 0n) + amountOf(it));
  return totals;
}

/** The sum of prices per hour. */
export const ratesOf = (items: readonly { currency: string; price_per_hour: string }[]): Totals =>
  totalOf(items, (it) => parseAmount(it.price_per_hour));

/** What a day costs at rates per hour. */
export const perDayOf = (rates: Totals): Totals =>
  new Map([...rates].map(([currency, rate]) => [currency, rate * 24n]));

/** What storages cost in a month. */
export const monthlyOf = (
  items: readonly { currency: string; price_per_gib_month: string; size_gib: number }[],
): Totals => totalOf(items, (it) => parseAmount(it.price_per_gib_month) * BigInt(it.size_gib));

/** As the API writes it: `12.5`. */
export const toDecimal = (amount: Amount): string => asDecimal(amount).replace(/\.?0+$/, "");

function asDecimal(amount: Amount): Intl.StringNumericLiteral {
  const positive = amount < 0n ? -amount : amount;
  const text = `${positive / MILLION}.${String(positive % MILLION).padStart(6, "0")}`;
  return `${amount < 0n ? "-" : ""}${text}` as Intl.StringNumericLiteral;
}

/** Signs that both languages put before the number: most pages need no formatter for these. */
const signs: Record<string, string> = { USD: "$", EUR: "€", GBP: "£", CNY: "¥", JPY: "¥" };

/** Two digits, and up to four for amounts below a cent, so that a price never reads as nothing. */
export function formatMoney(amount: Amount, currency: string, language: string): string {
  const positive = amount < 0n ? -amount : amount;
  const digits = positive > 0n && positive < CENT ? 4 : 2;
  const sign = signs[currency];
  if (!sign)
    return numberFormat(language, {
      style: "currency",
      currency,
      currencyDisplay: "narrowSymbol",
      minimumFractionDigits: 2,
      maximumFractionDigits: digits,
    }).format(asDecimal(amount));
  const step = 10n ** BigInt(6 - digits);
  const rounded = ((positive + step / 2n) / step) * step;
  const part = String(rounded % MILLION)
    .padStart(6, "0")
    .replace(/0{1,4}$/, "");
  return `${amount < 0n ? "-" : ""}${sign}${inGroups(String(rounded / MILLION))}.${part}`;
}
