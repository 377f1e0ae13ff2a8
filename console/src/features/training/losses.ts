export interface Losses {
  steps: number[];
  values: number[];
}

/** `loss.csv` as the trainer writes it: a heading, then a step and its loss a line. What is no number is left out. */
export function parseLosses(text: string): Losses {
  const steps: number[] = [];
  const values: number[] = [];
  for (const line of text.split("\n").slice(1)) {
    const [step, value] = line.split(",").map(Number);
    if (step === undefined || value === undefined || !Number.isFinite(step) || !Number.isFinite(value))
      continue;
    steps.push(step);
    values.push(value);
  }
  return { steps, values };
}

/** A mean in which each value counts less the longer it is ago: about the last `span` values. */
export function smoothed(values: readonly number[], span: number): number[] {
  const keep = 1 - 2 / (span + 1);
  let sum = 0;
  let weight = 0;
  return values.map((value) => {
    sum = sum * keep + value;
    weight = weight * keep + 1;
    return sum / weight;
  });
}

/** Upwards to two digits of which half is as round. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value) - 1);
  return Math.ceil(value / (2 * unit)) * 2 * unit;
}
