export interface Choice<T extends string> {
  value: T;
  label: string;
  hint?: string | undefined;
}
