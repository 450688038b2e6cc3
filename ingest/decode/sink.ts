/**
 * Takes one value of a payload: its key, the value as it was sent, and its time in microseconds since 1970;
 * undefined when it has none, null when it has one that cannot be read.
 */
export type Sink = (key: string, value: unknown, time: number | null | undefined) => void;
