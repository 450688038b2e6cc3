import { protocolError, Violation } from "./reader.js";

/** Aliases that a client may use: each costs us a topic. */
export const topicAliasMaximum = 16;

/** What a client's topic aliases stand for, on one connection [MQTT-3.3.2-7]. */
export interface TopicAliases {
  /**
   * The topic of a PUBLISH: its own, which its alias stands for from now on, or that of its alias. @throws Violation
   */
  resolve(topic: string, alias: number): string;
}

/** If a topic is longer than `bytesMax`, only one character more is kept: enough to show that it is too long. */
export function createTopicAliases(bytesMax: number): TopicAliases {
  const topics: string[] = [];

  return {
    resolve: (topic, alias) => {
      if (alias > topicAliasMaximum) {
        throw new Violation("topic_alias", `topic aliases go up to ${topicAliasMaximum}`);
      }
      if (topic !== "") {
        topics[alias] = topic.slice(0, bytesMax + 1);
        return topic;
      }
      const known = topics[alias];
      if (known === undefined) throw protocolError(`topic alias ${alias} stands for nothing`);
      return known;
    },
  };
}
