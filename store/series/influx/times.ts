/** The reach of queries and deletions: all times that both a double and InfluxDB's nanosecond clock hold exactly. */
export const timeMin = Number.MIN_SAFE_INTEGER;
export const timeMax = Number.MAX_SAFE_INTEGER - 1;
