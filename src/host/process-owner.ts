import { randomUUID } from "node:crypto";
import { hostname } from "node:os";

/** A name under which this process holds what others may take over: no other has it, and a person sees where it is. */
export const newOwner = (): string => `${hostname()} ${process.pid} ${randomUUID()}`;
