import { z } from "@hono/zod-openapi";
import type { ApiCaller } from "./caller.js";

/** A new password in a request. */
export const newPassword = z.string().min(8, "must have 8 characters or more").max(1024);

/** Sent with a new password: anybody who knew the old one may have made keys with it. */
export const revokeApiKeys = z
  .boolean()
  .default(false)
  .openapi({ description: "true: the user's API keys are revoked too; false: they go on" });

/** The fairness key in the queue of slow hashes. */
export const passwordFairnessKey = (caller: ApiCaller): string => `tenant ${caller.tenant}`;
