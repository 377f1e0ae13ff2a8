const DAY = 86_400_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY).toISOString();
export const hoursAgo = (hours: number) => daysAgo(hours / 24);
export const now = () => new Date().toISOString();
