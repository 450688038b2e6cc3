/** A product: what its devices measure and take, and what is made of it. */
import { call } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { Subscriptions } from "../resources/Subscriptions.js";
import { Tabs } from "./Tabs.js";

interface ProductRecord {
  readonly id: number;
  readonly productID: string;
  readonly productName: string;
  readonly description: string | null;
  readonly cloudProtocol: number;
}

const parts = [
  "dataPoints",
  "dataStreams",
  "metrics",
  "alertRules",
  "productResources",
  "appTemplates",
] as const;

export function Product({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const product = useQuery(`/products/${id}`, (signal) =>
    call<ProductRecord>("GET", `/products/${encodeURIComponent(id)}`, { signal }),
  );
  return (
    <QueryResult asked={product}>
      {({ id: productIntID, productID, productName, cloudProtocol, description }) => {
        const within = { productID };
        return (
          <>
            <header>
              <div>
                <h1>{productName}</h1>
                <p class="row muted">
                  <code>{productID}</code>
                  <span>{describeCode("cloudProtocol", cloudProtocol)}</span>
                  <span>{description}</span>
                </p>
              </div>
            </header>
            <Tabs
              tabs={[
                ...parts.map((name) => ({
                  name: name as string,
                  title: t(resources[name].title),
                  content: () => <ResourceList resource={resources[name]} within={within} />,
                })),
                {
                  name: "devices",
                  title: t("nav.devices"),
                  content: () => (
                    <ResourceList resource={resources.devices} within={{ productID, cloudProtocol }} />
                  ),
                },
                {
                  name: "subscriptions",
                  title: t("title.subscriptions"),
                  content: () => <Subscriptions of={`/products/${productIntID}`} />,
                },
              ]}
            />
          </>
        );
      }}
    </QueryResult>
  );
}
