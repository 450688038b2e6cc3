/** The instant as text of ISO 8601 with microseconds, as `readTime` reads it; years from 0000 to 9999. */
export function timeText(micros: number): string {
  const seconds = Math.floor(micros / 1e6);
  const fraction = String(micros - seconds * 1e6).padStart(6, "0");
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${fraction}Z`;
}
