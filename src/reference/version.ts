/** The version of package.json, which is the release's. */
export const version = "0.1.0";
