/** Ports that devices connect to; listeners that are off are left out. */
export interface Brokers {
  /** Name or address; an IPv6 address may have brackets. */
  readonly host: string;
  readonly ports: Readonly<Partial<Record<BrokerName, number | null>>>;
}

/** `…s` is over TLS or DTLS, `…ss` also requires the device's certificate. */
const brokerNames = ["mqtt", "mqtts", "mqttss", "coap", "coaps", "coapss", "ws", "wss"] as const;
type BrokerName = (typeof brokerNames)[number];

export type BrokerAddresses = { readonly [Name in `${BrokerName}Broker`]: string | null };

/** Each address as host:port; null for a listener that is off. */
export function brokerAddresses({ host, ports }: Brokers): BrokerAddresses {
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const addresses = brokerNames.map((broker) => {
    const port = ports[broker] ?? null;
    return [`${broker}Broker`, port === null ? null : `${name}:${port}`];
  });
  return Object.fromEntries(addresses) as BrokerAddresses;
}
