/** What people look devices up by. */
const columns = ["deviceID", "deviceName", "deviceUsername", "serialNumber", "IMEI", "IMSI", "mac"] as const;

export const deviceTexts = { table: "device_text", columns } as const;

/**
 * Three characters for use by nobody else, so that they are one trigram: it stands for the tenant, and what a search
 * finds is its own tenant's.
 */
export const tenantMark = (tenant: number): string =>
  String.fromCharCode(...[24, 12, 0].map((shift) => markBase + ((tenant >> shift) & markMask)));

const [markBase, markMask] = [0xe000, 0xfff];
const markSql = (tenant: string): string =>
  `char(${[24, 12, 0].map((shift) => `${markBase} + ((${tenant} >> ${shift}) & ${markMask})`).join(", ")})`;

const formatTextsSql = (row: string): string =>
  [markSql(`${row}tenant`), ...columns.map((column) => `lower(${row}${column})`)].join(", ");
const names = ["tenant", ...columns].join(", ");

const add = `insert into device_text (rowid, ${names}) values (new.id, ${formatTextsSql("new.")});`;
const remove = `insert into device_text (device_text, rowid, ${names})
  values ('delete', old.id, ${formatTextsSql("old.")});`;
const differs = ["tenant", ...columns].map((column) => `new.${column} is not old.${column}`).join(" or ");

/**
 * Trigrams of the devices' texts, ASCII letters in lower case: where they are, not the texts themselves. A search
 * compares what it finds with the rows.
 */
export const searchSchema: readonly string[] = [
  `create virtual table device_text using fts5(${names}, content = '', columnsize = 0, detail = none,
    tokenize = 'trigram case_sensitive 1')`,
  `insert into device_text (rowid, ${names}) select id, ${formatTextsSql("")} from device order by id`,
  `create trigger device_text_added after insert on device begin ${add} end`,
  `create trigger device_text_removed after delete on device begin ${remove} end`,
  `create trigger device_text_changed after update of tenant, ${columns.join(", ")} on device
    when ${differs} begin ${remove} ${add} end`,
];
