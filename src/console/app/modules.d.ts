declare module "*.css";

/** Made by the build: where a file with the outlines of the land is. */
declare module "tidemark:land-coarse" {
  const url: string;
  export = url;
}
declare module "tidemark:land-fine" {
  const url: string;
  export = url;
}

/** Made by the build: where the script of the shared worker is. */
declare module "tidemark:live-worker" {
  export const liveWorker: string;
}

/** Made by the build of what the API says of itself. */
declare module "tidemark:forms" {
  export interface FormField {
    readonly name: string;
    readonly kind:
      | "text"
      | "long"
      | "password"
      | "integer"
      | "number"
      | "choice"
      | "choices"
      | "boolean"
      | "json";
    readonly isRequired: boolean;
    readonly choices?: readonly (string | number)[];
    readonly minimum?: number;
    readonly maximum?: number;
    readonly maxLength?: number;
    readonly hint?: string;
  }
  export const forms: Readonly<
    Record<string, { readonly create: readonly FormField[]; readonly edit: readonly FormField[] }>
  >;
}
