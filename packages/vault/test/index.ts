/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export { VaultStandIn } from './vault-stand-in.js'
