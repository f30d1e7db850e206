export type * from './api.js'
export type * from './informer-types.js'
