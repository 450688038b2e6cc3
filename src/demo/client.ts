/** The demo's client of the API: `fetch` with the key, and an error that shows the answer. */
export interface DemoClient {
  get<T>(path: string): Promise<T>;
  /** Undefined if the answer has no body. */
  post<T>(path: string, body: unknown): Promise<T>;
  /** The answer's text. @throws Error with its beginning unless it is a success */
  send(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<string>;
}

export function createClient(http: string, key: string): DemoClient {
  async function send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body: string | null = null,
  ): Promise<string> {
    const answer = await fetch(new URL(path, http), {
      method,
      headers: { Authorization: `Bearer ${key}`, ...headers },
      body,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`cannot ${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return text;
  }
  return {
    get: async (path) => JSON.parse(await send("GET", path)),
    post: async (path, body) => {
      const text = await send("POST", path, { "Content-Type": "application/json" }, JSON.stringify(body));
      return text === "" ? undefined : JSON.parse(text);
    },
    send,
  };
}
