export function Brand() {
  return (
    <span className="flex items-center gap-2">
      <svg viewBox="0 0 20 20" className="size-5" aria-hidden="true">
        <rect width="20" height="20" rx="3" fill="var(--ultra)" />
        <path
          d="M4.5 15.5 10 4.5l5.5 11"
          fill="none"
          stroke="var(--on-ultra)"
          strokeWidth="1.8"
          strokeLinejoin="round"
        />
        <circle cx="10" cy="13.2" r="1.7" fill="var(--on-ultra)" />
      </svg>
      <span className="font-medium font-serif text-lg leading-none">Atelier</span>
    </span>
  );
}
