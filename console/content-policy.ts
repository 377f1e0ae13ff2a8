/** The headers with which the gateway serves the console; development, preview and tests send the same. */
export const pageHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
};
