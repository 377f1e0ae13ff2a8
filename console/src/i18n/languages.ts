export const languages = { en: "English", "zh-CN": "简体中文" } as const;
