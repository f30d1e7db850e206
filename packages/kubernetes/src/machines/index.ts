export { SecretTokenStore, type SecretTokenStoreOptions } from './secret-token-store.js'
