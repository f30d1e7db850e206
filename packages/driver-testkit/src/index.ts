export * from './fake-host.js'
export * from './latest.js'
export * from './test-certificates.js'
