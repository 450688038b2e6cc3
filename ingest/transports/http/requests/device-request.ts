import type { IncomingHttpHeaders } from "node:http";
import type { DeviceClient } from "../../../clients/client.js";
import type { PolledInbox } from "../../../clients/polled-inbox.js";
import type { Kept } from "../../../clients/waiting-for-disk.js";
import type { LocalTime } from "../../../decode/time.js";
import type { Directory } from "../../../directory/directory.js";
import type { HttpResponse, TakeAnswerRoom, UplinkAnswer } from "./answers.js";
import type { UplinkBody } from "./body.js";

/** A request of a device that has shown who it is. */
export interface DeviceRequest {
  readonly client: DeviceClient<PolledInbox>;
  /** Where the request came from. */
  readonly ip: string;
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
  readonly response: HttpResponse;
  /** An answer where the body is not to be had; undefined: the client has gone. */
  body(bytesMax: number): Promise<UplinkBody | UplinkAnswer | undefined>;
  /** Reserves an answer's bytes before its work is done. */
  readonly takeAnswerRoom: TakeAnswerRoom;
  readonly directory: Pick<Directory, "below" | "get">;
  /** Reads a time without an offset. */
  readonly local: LocalTime;
  /** Whether a message has to wait until more can be taken. */
  isFull(): boolean;
  /** Resolves once another message can be taken; false: nothing can be kept now. */
  room(): Promise<boolean>;
  /** Resolves once everything taken so far is on disk. */
  kept(): Promise<Kept>;
}
