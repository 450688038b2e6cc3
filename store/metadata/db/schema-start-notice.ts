/** What the next start logs once of the records that it finds; it removes the row. */
export const startNoticeSchema: readonly string[] = [
  "create table start_notice (name text not null primary key) strict, without rowid",
  // Since then a data point goes before a constant of its name.
  "insert into start_notice (name) values ('formula names')",
];
