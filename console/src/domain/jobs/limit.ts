/** The least that a job may cost, of the sentence with which the API refuses a lower limit. */
export const leastOf = (detail: string | undefined): string | undefined =>
  /cost ([\d.]+)/.exec(detail ?? "")?.[1];
