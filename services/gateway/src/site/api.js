SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  // tokens are forgotten with the page
  persistAuthorization: false,
  // no request leaves this origin
  validatorUrl: null,
  // writes need a key, which scripts choose themselves
  requestInterceptor: (request) => {
    if (request.method && request.method !== "GET" && !request.headers["Idempotency-Key"]) {
      request.headers["Idempotency-Key"] = crypto.randomUUID();
    }
    return request;
  },
});
