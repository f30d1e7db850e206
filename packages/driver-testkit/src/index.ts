export * from './fake-host.js'
export * from './injector-context.js'
export * from './latest.js'
export * from './test-certificates.js'
