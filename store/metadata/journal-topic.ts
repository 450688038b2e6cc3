import type { Db } from "./db/db.js";

/** The topic that keeps a deployment's journal. */
export interface JournalTopic {
  /** The deployment's own id: what it claims in the topic bears it. */
  readonly deployment: string;
  /** The Kafka cluster's id, and the id of the topic there. */
  readonly clusterID: string;
  readonly topicID: string;
  /** Its name. */
  readonly topic: string;
}

export function readJournalTopic(db: Db): Promise<JournalTopic | undefined> {
  return db.first<JournalTopic>("select deployment, clusterID, topicID, topic from journal_topic");
}

/** Notes the topic unless there is one; resolves with the one that counts: of processes that start at once, the first's. */
export async function keepJournalTopic(db: Db, now: number, topic: JournalTopic): Promise<JournalTopic> {
  const { deployment, clusterID, topicID } = topic;
  await db.write([
    {
      sql: `insert or ignore into journal_topic (only, deployment, clusterID, topicID, topic, createAt)
        values (1, ?, ?, ?, ?, ?)`,
      args: [deployment, clusterID, topicID, topic.topic, now],
    },
  ]);
  return (await readJournalTopic(db)) ?? topic;
}
