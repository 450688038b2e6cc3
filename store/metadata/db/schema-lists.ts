/** Record ids of one block: pages far down a list begin at the block that they lie in. */
export const blockIDs = 1000;

const added = `
  insert into device_block (tenant, block, kind, n) values (new.tenant, new.id / ${blockIDs}, new.kind, 1)
    on conflict (tenant, block, kind) do update set n = n + 1;
  insert into product_device_count (productIntID, kind, tenant, n)
    values (new.productIntID, new.kind, new.tenant, 1)
    on conflict (productIntID, kind) do update set n = n + 1;`;

const removed = `
  update device_block set n = n - 1
    where tenant = old.tenant and block = old.id / ${blockIDs} and kind = old.kind;
  delete from device_block
    where tenant = old.tenant and block = old.id / ${blockIDs} and kind = old.kind and n = 0;
  update product_device_count set n = n - 1 where productIntID = old.productIntID and kind = old.kind;
  delete from product_device_count
    where productIntID = old.productIntID and kind = old.kind and n = 0;`;

/**
 * How many devices there are, kept as they come and go, so that no list counts them anew, and
 * indexes of what is listed in the order of its ids. A device is of its product's tenant.
 */
export const listsSchema: readonly string[] = [
  "create index product_tenant on product (tenant, id)",
  "create index user_tenant on user (tenant, id)",
  "create index api_key_tenant on api_key (tenant, id)",
  `create table device_block (
    tenant integer not null, block integer not null, kind text not null, n integer not null,
    primary key (tenant, block, kind)
  ) strict, without rowid`,
  `create table product_device_count (
    productIntID integer not null, kind text not null, tenant integer not null, n integer not null,
    primary key (productIntID, kind)
  ) strict, without rowid`,
  `insert into device_block (tenant, block, kind, n)
    select tenant, id / ${blockIDs}, kind, count(*) from device group by 1, 2, 3`,
  `insert into product_device_count (productIntID, kind, tenant, n)
    select productIntID, kind, tenant, count(*) from device group by 1, 2`,
  `create trigger device_counted after insert on device begin ${added} end`,
  `create trigger device_uncounted after delete on device begin ${removed} end`,
  `create trigger device_recounted after update of tenant, kind, productIntID on device
    when new.tenant <> old.tenant or new.kind <> old.kind or new.productIntID <> old.productIntID
    begin ${removed} ${added} end`,
];
