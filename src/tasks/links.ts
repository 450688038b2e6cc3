import { createHmac } from "node:crypto";
import { equalText } from "../../store/metadata/db/secrets.js";

/** Download links that need no credentials and expire: their token names their owner and their end. */
interface DownloadLinks {
  /** Relative to /api/v1. `file` is a name in the tasks' folder. */
  link(task: string, file: string): string;
  /** Whether the token is one of ours, for that file, and not too old. */
  allows(file: string, token: string): boolean;
}

export const linkLifeMs = 15 * 60_000;

/** `key` is the process's own: a restart ends every link, and the next look at the task gives a new one. */
export function createDownloadLinks(key: Uint8Array, now: () => number): DownloadLinks {
  const seal = (task: string, file: string, until: string) =>
    createHmac("sha256", key)
      .update(JSON.stringify([task, file, until]))
      .digest("base64url");
  return {
    link: (task, file) => {
      const until = String(now() + linkLifeMs);
      const token = `${task}.${until}.${seal(task, file, until)}`;
      return `download?filename=${encodeURIComponent(file)}&fileType=export_excel&token=${token}`;
    },
    allows: (file, token) => {
      const [task = "", until = "", mac = ""] = token.split(".");
      return equalText(mac, seal(task, file, until)) && Number(until) > now();
    },
  };
}
