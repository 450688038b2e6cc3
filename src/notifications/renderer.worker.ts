import { parentPort } from "node:worker_threads";
import { Liquid } from "liquidjs";
import { type FromRenderer, renderedLengthMax, type ToRenderer } from "./template-messages.js";

/** Renders templates of tenants in a thread of its own: what they compute holds nobody else. */

const port = parentPort;
if (port === null) throw new Error("renderer.worker runs in a worker thread only");

/** Characters, milliseconds and units of memory of one template. */
const limits = { parseLimit: 32_768, renderLimit: 200, memoryLimit: 2_000_000 } as const;

function render({ templates, document, timezone }: ToRenderer): FromRenderer {
  const rendered: Record<"subject" | "body", string | null> = { subject: null, body: null };
  for (const field of ["subject", "body"] as const) {
    const template = templates[field];
    if (template === null) continue;
    try {
      // No files: a template includes nothing.
      const liquid = new Liquid({
        ...limits,
        templates: {},
        ownPropertyOnly: true,
        timezoneOffset: timezone,
      });
      const text = String(liquid.parseAndRenderSync(template, document));
      if (text.length > renderedLengthMax)
        return { field, error: `makes more than ${renderedLengthMax} characters` };
      rendered[field] = text;
    } catch (error) {
      const [reason = ""] = String(error instanceof Error ? error.message : error).split("\n");
      return { field, error: reason.slice(0, 300) };
    }
  }
  return rendered;
}

port.on("message", (message: ToRenderer) => {
  const answer: FromRenderer = render(message);
  port.postMessage(answer);
});
