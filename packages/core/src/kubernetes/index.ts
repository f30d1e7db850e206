export type * from './api.js'
export type * from './informer-types.js'
export * from './source/index.js'
