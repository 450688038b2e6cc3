import { both, empty, error, holding, is, nothing, page, pageOf } from "../form.js";
import { lines } from "../line.js";
import { edited, labelled, made, product, productOfB } from "../records.js";

const body = { cloudProtocol: 2, productName: "product-{unique}", description: "d" };
const own = { as: "own", call: "POST /products", body };
const other = { as: "other", call: "POST /products", body };
const listed = { A: page(product.listed), B: page(productOfB.listed) };
const detail = { A: product.detail, B: productOfB.detail };

export const productLines = lines("Products", [
  { says: "page of products", in: "AB", call: "GET /products?_page=1&_limit=3", status: 200, answer: listed },
  ...["productName_like", "pruductName_like"].map((filter) => ({
    says: `filter ${filter}`,
    in: "AB" as const,
    call: `GET /products?${filter}=GREEN`,
    status: 200,
    answer: pageOf(1, holding({ productName: is("greenhouse") })),
  })),
  { says: "detail by record id", in: "AB", call: "GET /products/{product.id}", status: 200, answer: detail },
  {
    says: "detail by productID",
    in: "AB",
    call: "GET /products/{product.productID}",
    status: 200,
    answer: detail,
  },
  {
    says: "counts; devices leave the gateway out",
    in: "A",
    call: "GET /products?productName_like=greenhouse",
    status: 200,
    answer: pageOf(1, holding({ dataPointCount: is(2), dataStreamCount: is(1), appCount: is(1) })),
  },
  {
    says: "create",
    in: "A",
    call: "POST /products",
    body,
    status: 201,
    answer: both(made(product.stored), holding({ cloudProtocol: is(2), description: is("d") })),
  },
  {
    says: "create",
    in: "B",
    call: "POST /products",
    body: { productName: "product-{unique}", description: "d" },
    status: 201,
    answer: made(productOfB.stored),
  },
  {
    says: "a product made through B speaks MQTT",
    in: "B",
    given: [
      {
        as: "b",
        call: "POST /products",
        body: { productName: "product-{unique}", description: "d" },
        headers: { "Api-Variant": "B" },
      },
    ],
    call: "GET /products/{b.id}",
    headers: { "Api-Variant": "A" },
    status: 200,
    answer: labelled("cloudProtocol", 1, "MQTT"),
  },
  ...["productName", "description"].map((field) => ({
    says: `create requires ${field}`,
    in: "B" as const,
    call: "POST /products",
    body: { productName: "product-{unique}", description: "d", [field]: null },
    status: 400,
    answer: error("PARAMETER_INVALID", field),
  })),
  {
    says: "edit takes the record as read",
    in: "AB",
    given: [own, { as: "read", call: "GET /products/{own.id}" }],
    call: "PUT /products/{own.id}",
    body: { "...": "{read}", productName: "renamed-{unique}", description: null },
    status: 200,
    answer: {
      A: both(edited(product.stored), holding({ description: nothing })),
      B: both(edited(productOfB.stored), holding({ description: nothing })),
    },
  },
  {
    says: "delete several, empty body",
    in: "AB",
    given: [own, other],
    call: "DELETE /products?ids={own.id},{other.productID}",
    status: 204,
    answer: empty,
  },
  {
    says: "a product with devices cannot be deleted",
    in: "AB",
    call: "DELETE /products?ids={product.id}",
    status: 400,
    answer: error("REFERENCED_ERROR"),
  },
]);
