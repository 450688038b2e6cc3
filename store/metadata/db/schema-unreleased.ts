/** QoS 2 ids that are not released stand with their sessions, in a store of their own. */
export const unreleasedSchema: readonly string[] = ["drop table unreleased"];
