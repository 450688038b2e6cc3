import { version } from "../host/version.js";

/** The reference page: our own frame around Swagger UI, with nothing inline and nothing from another host. */

export const pageHtml = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Tidemark API reference</title>
    <link rel="icon" href="reference/favicon.png">
    <link rel="stylesheet" href="reference/swagger-ui.css">
    <link rel="stylesheet" href="reference/page.css">
    <script src="reference/swagger-ui.js" defer></script>
    <script src="reference/page.js" defer></script>
  </head>
  <body>
    <header>
      <h1>Tidemark API reference</h1>
      <p>version ${version} · <a href="openapi.json">openapi.json</a></p>
    </header>
    <main id="reference"></main>
    <noscript>The description of the interface is at <a href="openapi.json">openapi.json</a>.</noscript>
  </body>
</html>
`;

export const pageScript = `"use strict";
SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  displayOperationId: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "example",
  validatorUrl: null,
});
`;

export const pageStyle = `body { margin: 0; background: #fff; font-family: system-ui, sans-serif; }
body > header { background: #0b2b3a; color: #fff; padding: 18px 0; }
body > header > * { max-width: 1460px; margin: 0 auto; padding: 0 20px; box-sizing: border-box; }
body > header h1 { font-size: 26px; font-weight: 600; }
body > header p { margin-top: 4px; font-size: 14px; color: #b9d3de; }
body > header a { color: #fff; }
noscript { display: block; padding: 20px; }
.swagger-ui .info { margin: 24px 0; }
.swagger-ui .info hgroup.main { display: none; }
.swagger-ui .scheme-container .schemes .schemes-server-container { visibility: hidden; }
.swagger-ui .info .description p { margin: 0 0 10px; max-width: 100ch; line-height: 1.5; }
.swagger-ui .info code, .swagger-ui .opblock-body .markdown code { color: #0b4f6c; background: #eef3f6; padding: 1px 4px; }
.swagger-ui .scheme-container { margin: 0; padding: 0; box-shadow: none; }
.swagger-ui .scheme-container .schemes { align-items: center; }
.swagger-ui .opblock-tag { font-size: 20px; }
`;

/** Allows no host but this one; Swagger UI draws its icons as data images. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");
