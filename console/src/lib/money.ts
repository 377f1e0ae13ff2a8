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

function asDecimal(amount: Amount): Intl.StringNumericLiteral {
  const positive = amount < 0n ? -amount : amount;
  const text = `${positive / MILLION}.${String(positive % MILLION).padStart(6, "0")}`;
  return `${amount < 0n ? "-" : ""}${text}` as Intl.StringNumericLiteral;
}

/** Two digits, and up to four for amounts below a cent, so that a price never reads as nothing. */
export function formatMoney(amount: Amount, currency: string, language: string): string {
  const positive = amount < 0n ? -amount : amount;
  return new Intl.NumberFormat(language, {
    style: "currency",
    currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: positive > 0n && positive < 10_000n ? 4 : 2,
  }).format(asDecimal(amount));
}
