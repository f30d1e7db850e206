/** How the mesh proves to Vault who it is. Secrets are read when they are needed, so that replaced ones count. */
export type VaultAuth =
  | { readonly kind: 'token'; readonly token: () => Promise<string> }
  /** Someone else, such as Vault Agent, keeps the token in a file up to date. */
  | { readonly kind: 'tokenFile'; readonly path: string }
  | { readonly kind: 'kubernetes'; readonly mount: string; readonly role: string; readonly tokenPath: string }
  | {
      readonly kind: 'appRole'
      readonly mount: string
      readonly roleId: string
      readonly secretId: () => Promise<string>
    }

/** Where Vault is, and what it is asked for. */
export interface VaultSettings {
  /** `http://` or `https://`, host and port. */
  readonly origin: string
  /** Path of the PKI secrets engine. */
  readonly mount: string
  /** Role of the secrets engine that signs. */
  readonly role: string
  /** Namespace of Vault Enterprise or HCP. */
  readonly namespace?: string
  /** PEM of the roots that Vault's own certificate is verified with; absent: those of the system. */
  readonly ca?: string
  readonly auth: VaultAuth
}
