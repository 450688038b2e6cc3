import type { BrowserContext } from "playwright-core";

export interface User {
  readonly username: string;
  readonly password: string;
}

/** The session is a cookie of the context, whichever of its pages asks for it. */
export async function takeSession(context: BrowserContext, origin: string, user: User): Promise<void> {
  const answer = await context.request.post(`${origin}/api/v1/login`, {
    headers: { Origin: origin, "X-Tidemark": "1" },
    data: { ...user, cookie: true },
  });
  if (!answer.ok()) throw new Error(`cannot log in: ${answer.status()} ${await answer.text()}`);
}
