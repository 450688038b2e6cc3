import { Producer } from "@platformatic/kafka";

/** The client library's own producer: one message a frame, acknowledged by all replicas in sync, one in flight. */
export function openBareProducer(bootstrapBrokers: readonly string[], topic: string) {
  const producer = new Producer({
    clientId: "bench-bare",
    bootstrapBrokers: [...bootstrapBrokers],
    maxInflights: 1,
    retries: 0,
    autocreateTopics: false,
  });
  return {
    append: async (frame: Buffer): Promise<void> => {
      await producer.send({ messages: [{ topic, partition: 0, value: frame }], acks: -1 });
    },
    close: () => producer.close(),
  };
}
