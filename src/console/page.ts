/** The one page of the console, and what it may do. */

/** Names of the files that it begins with. */
interface Beginning {
  readonly script: string;
  readonly style: string;
}

export function pageOf({ script, style }: Beginning): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
    <meta name="color-scheme" content="light dark">
    <title>Tidemark</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/console/assets/${style}">
    <script type="module" src="/console/assets/${script}"></script>
  </head>
  <body>
    <noscript>The console needs JavaScript. All that it does, the API does: <a href="/reference">reference</a>.</noscript>
  </body>
</html>
`;
}

/** No request ever leaves the own host, nothing is inline, and no text becomes markup. */
const contentSecurityPolicy = (framers: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${framers.length === 0 ? "'none'" : framers.join(" ")}`,
    "require-trusted-types-for 'script'",
    "trusted-types tidemark",
  ].join("; ");

/** @param framers origins whose pages may show it in a frame */
export function pageHeaders(framers: readonly string[] = []): Readonly<Record<string, string>> {
  return {
    "Content-Security-Policy": contentSecurityPolicy(framers),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
  };
}
