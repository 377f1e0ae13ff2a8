/** What an address can open, apart from the dialogs: every page knows the addresses of all. */
export const confirmed = ["disable", "enable", "admin", "totp", "passkeys", "delete"] as const;
export type Confirmed = (typeof confirmed)[number];
export const userDialogs = [...confirmed, "rename", "password"] as const;
export type UserDialog = (typeof userDialogs)[number];
