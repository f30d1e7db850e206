export { checkProvider, type ProviderCheckResult } from './check-provider.js'
export { type ProviderCheck, providerChecks, type ProviderSubject } from './checks.js'
export { customResource, RecordingHost } from './recording-host.js'
