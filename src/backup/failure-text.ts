/** Texts for the task and the log that say why a backup has failed. */
const reasons: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  SQLITE_FULL: "the disk is full",
  EDQUOT: "the quota of the disk is used up",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOENT: "it is not there",
  ENOTDIR: "it is not a folder",
  EIO: "the disk does not read or write",
  ESTALE: "the disk is gone",
};

export function failureText(error: Error): string {
  const { code, path, message } = error as NodeJS.ErrnoException;
  const reason = reasons[code ?? ""];
  if (reason === undefined) return message;
  return path === undefined ? `${reason} (${code})` : `${path}: ${reason} (${code})`;
}
