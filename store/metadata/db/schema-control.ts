/** What commands need beyond their logs: whose they are, and which wait for a receipt. */
export const controlSchema: readonly string[] = [
  // The process that has issued it: at its start it knows which it still holds.
  "alter table control_log add column node integer not null default 0",
  "create index control_log_issued on control_log (expiresAt) where publishStatus = 1",
];
