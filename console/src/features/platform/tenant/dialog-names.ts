/** What an address can open, apart from the dialogs: every page knows the addresses of all. */
export const tenantDialogs = ["suspend", "reactivate", "rename", "delete"] as const;
export type TenantDialog = (typeof tenantDialogs)[number];
