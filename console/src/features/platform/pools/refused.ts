/** What is wrong with a list, or with one of its entries: `gpu_specs`, `gpu_specs.1`. */
export const errorIn = (errors: Record<string, string | undefined>, name: string) =>
  Object.entries(errors).find(
    ([field, text]) => text && (field === name || field.startsWith(`${name}.`)),
  )?.[1];
