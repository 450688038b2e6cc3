/** The product of a record that names it by its string id alone. */
import { call, type Page } from "../api.js";
import { useQuery } from "../query.js";
import { formatHref } from "../router.js";

interface ProductLinkProps {
  readonly productID: string;
  readonly productName: string;
}

export function ProductLink({ productID, productName }: ProductLinkProps) {
  // A string id of digits alone would be taken for a record id where it stands in a path.
  const asked = useQuery(`product ${productID}`, (signal) =>
    call<Page<{ readonly id: number }>>("GET", "/products", { query: { productID, _limit: 1 }, signal }),
  );
  const id = asked.data?.items[0]?.id;
  return id === undefined ? (
    <span>{productName}</span>
  ) : (
    <a href={formatHref(`/products/${id}`)}>{productName}</a>
  );
}
