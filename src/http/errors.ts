import { StoreError, type StoreErrorCode } from "../../store/lib/errors.js";

/** errorCode → status, as decided for the interface's open "Errors" chapter. */
export const errorStatus = {
  BAD_REQUEST: 400,
  PARAMETER_INVALID: 400,
  DATA_EXISTED: 400,
  REFERENCED_ERROR: 400,
  AUTH_FAILED: 401,
  LOGIN_REQUIRED: 401,
  PERMISSION_DENIED: 403,
  RESOURCE_LIMITED: 403,
  DATA_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  NOT_ACCEPTABLE: 406,
  REQUEST_TIMEOUT: 408,
  VERSION_CONFLICT: 409,
  IN_PROGRESS: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  EXPECTATION_FAILED: 417,
  FORMAT_INVALID: 422,
  TOO_MANY_REQUESTS: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL_ERROR: 500,
  NOT_IMPLEMENTED: 501,
  BAD_GATEWAY: 502,
  SERVICE_UNAVAILABLE: 503,
  GATEWAY_TIMEOUT: 504,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** An answer that is not a success; `errors` maps fields to their faults. */
export class ApiError extends Error {
  constructor(
    readonly errorCode: ErrorCode,
    message: string,
    readonly errors: Readonly<Record<string, string>> = {},
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

const storeCodes: Readonly<Record<StoreErrorCode, ErrorCode>> = {
  UNAVAILABLE: "SERVICE_UNAVAILABLE",
  MISMATCH: "SERVICE_UNAVAILABLE",
  CONFLICT: "DATA_EXISTED",
  OUTDATED: "VERSION_CONFLICT",
  REFERENCED: "REFERENCED_ERROR",
  NOT_FOUND: "DATA_NOT_FOUND",
  LIMIT: "PARAMETER_INVALID",
  CORRUPT: "INTERNAL_ERROR",
  INVALID: "PARAMETER_INVALID",
  DENIED: "AUTH_FAILED",
};

const retryAfterSeconds = "5";

/** The error that a caller sees for any thrown one. Unforeseen errors reveal nothing internal. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (!(error instanceof StoreError))
    return new ApiError("INTERNAL_ERROR", "the service failed; the log has it");
  const errorCode = storeCodes[error.code];
  if (errorCode === "INTERNAL_ERROR") return new ApiError(errorCode, "the service failed; the log has it");
  if (errorCode === "SERVICE_UNAVAILABLE") {
    const headers = { "Retry-After": retryAfterSeconds };
    if (error.code === "MISMATCH") return new ApiError(errorCode, error.message, error.fields, headers);
    return new ApiError(errorCode, "the service cannot do this now, try again later", {}, headers);
  }
  const headers = errorCode === "AUTH_FAILED" ? { "WWW-Authenticate": "Bearer" } : {};
  return new ApiError(errorCode, error.message, error.fields, headers);
}

export function invalid(errors: Readonly<Record<string, string>>): ApiError {
  return new ApiError("PARAMETER_INVALID", `invalid: ${Object.keys(errors).join(", ")}`, errors);
}

/**
 * Turns a store's LIMIT on the number of records into RESOURCE_LIMITED. @throws ApiError RESOURCE_LIMITED, or else the
 * error as it is
 */
export function resourceLimited(error: unknown): never {
  if (error instanceof StoreError && error.code === "LIMIT") {
    throw new ApiError("RESOURCE_LIMITED", error.message);
  }
  throw error;
}

/** Status, headers and body of an error, for any way of writing an answer. */
export function toFailure({ errorCode, message, errors, headers }: ApiError) {
  return {
    status: errorStatus[errorCode],
    headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
    body: JSON.stringify({ errorCode, message, errors }),
  };
}
