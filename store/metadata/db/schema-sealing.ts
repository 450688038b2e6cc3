/** Sealed values belong to their record. `keyCheck` opens with the right master key; null: they were sealed before that. */
export const sealingSchema: readonly string[] = [
  "create table sealing (only integer primary key check (only = 1), keyCheck blob) strict",
  "insert into sealing (only) values (1)",
];
