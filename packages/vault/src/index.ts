export { VaultAuthority } from './vault-authority.js'
export type { VaultAuth, VaultSettings } from './vault-settings.js'
