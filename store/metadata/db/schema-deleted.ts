/** Logs outlive the device they speak of, and its product too, with the names that both had. */
export const departedSchema: readonly string[] = [
  "alter table departed_device add column productIntID integer",
  "alter table departed_device add column productName text",
  "create index departed_device_product on departed_device (productIntID)",
];
