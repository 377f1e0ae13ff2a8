import { expect, test } from "vitest";
import { costOf, formatMoney, inCents, parseAmount, toDecimal } from "./money";

test("decimal strings stay exact", () => {
  expect(parseAmount("0.2")).toBe(200_000n);
  expect(parseAmount("-1.05")).toBe(-1_050_000n);
  expect(parseAmount("12")).toBe(12_000_000n);
  expect(parseAmount("9007199254740993.000001")).toBe(9_007_199_254_740_993_000_001n);
  expect(() => parseAmount("1,5")).toThrow("not an amount");
  expect(() => parseAmount("")).toThrow();
});

test("what a run costs is rounded down to a millionth", () => {
  expect(costOf("0.2", 4 * 3600 + 180)).toBe(810_000n);
  expect(costOf("0.74", 1)).toBe(205n);
  expect(costOf("1", 0.9)).toBe(0n);
});

test("amounts are written as the reader writes them", () => {
  expect(formatMoney(810_000n, "USD", "en")).toBe("$0.81");
  expect(formatMoney(810_000n, "USD", "zh-CN")).toBe("$0.81");
  expect(formatMoney(1_234_500_000n, "EUR", "en")).toBe("€1,234.50");
  expect(formatMoney(-1_050_000n, "USD", "en")).toBe("-$1.05");
});

test("a price below a cent does not read as nothing", () => {
  expect(formatMoney(4_200n, "USD", "en")).toBe("$0.0042");
  expect(formatMoney(0n, "USD", "en")).toBe("$0.00");
});

test("large amounts lose no cent", () => {
  expect(formatMoney(9_007_199_254_740_993_010_000n, "USD", "en")).toBe("$9,007,199,254,740,993.01");
});

test("what is shown in cents adds up to the sum that is shown", () => {
  const exact = ["1.004", "2.004", "3.004", "0.0001", "9007199254740993.003"].map(parseAmount);
  const shown = inCents(exact);
  const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
  expect(formatMoney(sum(shown), "USD", "en")).toBe(formatMoney(sum(exact), "USD", "en"));
  expect(shown.map(toDecimal)).toEqual(["1.01", "2.01", "3", "0", "9007199254740993"]);
  for (const [i, amount] of exact.entries())
    expect(Math.abs(Number(amount - (shown[i] ?? 0n)))).toBeLessThan(10_000);
  expect(inCents([])).toEqual([]);
});

test("decimals are written as the API writes them", () => {
  expect(["0.000000", "12.500000", "100", "-0.1"].map((text) => toDecimal(parseAmount(text)))).toEqual([
    "0",
    "12.5",
    "100",
    "-0.1",
  ]);
});

test("signs known here are written as the browser writes them", () => {
  const amounts = [
    0n,
    1n,
    4_200n,
    5_000n,
    9_999n,
    10_000n,
    810_000n,
    999_995_000n,
    1_234_567_890_000n,
    -1n,
    -50_000n,
  ];
  for (const language of ["en", "zh-CN"])
    for (const currency of ["USD", "EUR", "GBP", "CNY", "JPY", "CHF"])
      for (const amount of amounts) {
        const positive = amount < 0n ? -amount : amount;
        const browser = new Intl.NumberFormat(language, {
          style: "currency",
          currency,
          currencyDisplay: "narrowSymbol",
          minimumFractionDigits: 2,
          maximumFractionDigits: positive > 0n && positive < 10_000n ? 4 : 2,
        });
        const decimal = `${amount < 0n ? "-" : ""}${positive / 1_000_000n}.${String(positive % 1_000_000n).padStart(6, "0")}`;
        expect(formatMoney(amount, currency, language)).toBe(
          browser.format(decimal as Intl.StringNumericLiteral),
        );
      }
});
