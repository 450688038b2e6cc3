/**
 * Takes one value of a payload: its key, the value as it was sent, and its time in microseconds since 1970;
 * undefined if it has none, null if it has one that cannot be read.
 */
export type Sink = (key: string, value: unknown, time: number | null | undefined) => void;
