/** Ports that devices connect to; a listener that is off is not there. */
export interface Brokers {
  /** Name or address, an IPv6 address without brackets or in them. */
  readonly host: string;
  readonly ports: Readonly<Partial<Record<BrokerName, number | null>>>;
}

/** `…s` is over TLS or DTLS, `…ss` with the device's certificate. */
const brokerNames = ["mqtt", "mqtts", "mqttss", "coap", "coaps", "coapss", "ws", "wss"] as const;
type BrokerName = (typeof brokerNames)[number];

export type BrokerAddresses = { readonly [Name in `${BrokerName}Broker`]: string | null };

/** Each as host:port, null where the listener is off. */
export function brokerAddresses({ host, ports }: Brokers): BrokerAddresses {
  const name = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;
  const addresses = brokerNames.map((broker) => {
    const port = ports[broker] ?? null;
    return [`${broker}Broker`, port === null ? null : `${name}:${port}`];
  });
  return Object.fromEntries(addresses) as BrokerAddresses;
}
