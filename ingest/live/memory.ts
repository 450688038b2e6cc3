/**
 * The bytes that the live feed holds, a share for each tenant: the fullest of a tenant's logs give way to new events.
 */
import { createShares } from "../../store/lib/shares.js";
import type { Numbered } from "./log.js";
import type { TenantPart, Topic } from "./topics.js";

interface LiveMemory<Event extends Numbered> {
  /** Appends an event to the topic's log. False if the budget is used up: it counts as one that was dropped. */
  append(topic: Topic<Event>, event: Event): boolean;
  /** The event of that number is not held: listeners that wait for it have fallen behind. */
  skip(topic: Topic<Event>, number: number): void;
  /** Drops a topic's oldest events until at most so many bytes are held. */
  shrink(topic: Topic<Event>, bytesMax: number): void;
  /** Takes so many bytes of the tenant's share, if need be from its logs; false if it has no more. */
  take(tenant: number, bytes: number): boolean;
  give(tenant: number, bytes: number): void;
  readonly total: number;
}

/**
 * @param onDropped called after events of a topic have been dropped: listeners that have not taken them have fallen
 * behind
 */
export function createLiveMemory<Event extends Numbered>(
  bytesMax: number,
  findPart: (tenant: number) => TenantPart<Event> | undefined,
  onDropped: (topic: Topic<Event>) => void,
): LiveMemory<Event> {
  const shares = createShares<number>(bytesMax);

  function free(topic: Topic<Event>, bytes: number): void {
    topic.part.bytes -= bytes;
    shares.give(topic.device.tenant, bytes);
    onDropped(topic);
  }

  const shrink = (topic: Topic<Event>, most: number): void => free(topic, topic.log.shrink(most));
  const skip = (topic: Topic<Event>, number: number): void => free(topic, topic.log.skip(number));

  function take(tenant: number, bytes: number): boolean {
    while (!shares.take(tenant, bytes)) {
      const fullest = findFullest(findPart(tenant));
      if (fullest === null) return false;
      shrink(fullest, Math.floor(fullest.log.bytes / 2));
    }
    return true;
  }

  return {
    append: (topic, event) => {
      const { bytes } = event;
      if (!take(topic.device.tenant, bytes)) {
        skip(topic, event.number);
        return false;
      }
      topic.log.append(event);
      topic.part.bytes += bytes;
      return true;
    },
    skip,
    shrink,
    take,
    give: shares.give,
    get total() {
      return shares.total;
    },
  };
}

/** Null if the tenant's logs are empty. */
function findFullest<Event extends Numbered>(part: TenantPart<Event> | undefined): Topic<Event> | null {
  if (part === undefined || part.bytes === 0) return null;
  let fullest: Topic<Event> | null = null;
  for (const one of part.topics) if (one.log.bytes > (fullest?.log.bytes ?? 0)) fullest = one;
  return fullest;
}
