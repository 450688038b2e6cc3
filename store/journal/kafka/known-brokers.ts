import type { Address } from "./broker-link.js";

/** Where brokers of a cluster are looked for. */
interface KnownBrokers {
  /** Those that the cluster has named last, before those that we were given. */
  readonly all: readonly Address[];
  learn(named: readonly Address[]): void;
}

export function createKnownBrokers(given: readonly Address[]): KnownBrokers {
  let all = given;
  return {
    get all() {
      return all;
    },
    learn: (named) => {
      const isNew = ({ host, port }: Address) => !named.some((one) => one.host === host && one.port === port);
      all = [...named, ...given.filter(isNew)];
    },
  };
}

/** Keeps those brokers of a cluster's answer that can be connected to. */
export function withAddress<T extends Address>(named: readonly T[]): readonly T[] {
  return named.filter(({ host, port }) => host !== "" && port > 0 && port < 65_536);
}
