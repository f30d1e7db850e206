export { dnsProvider } from './dns-provider.js'
export { fileProvider } from './file-provider.js'
