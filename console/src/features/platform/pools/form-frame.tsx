import type { FormEvent, ReactNode } from "react";

/** Fields at the left; what the press does, and the press itself, always in view at the right. */
export function FormFrame({
  onSubmit,
  side,
  children,
}: {
  onSubmit: () => void;
  side: ReactNode;
  children: ReactNode;
}) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form noValidate onSubmit={submit} className="grid items-start gap-8 lg:grid-cols-[minmax(0,1fr)_19rem]">
      <div className="min-w-0">{children}</div>
      <div className="space-y-3 lg:sticky lg:top-6">{side}</div>
    </form>
  );
}
