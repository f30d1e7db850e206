export { Oracle, type Destination, type OracleOptions, type Question, type Verdict } from './oracle.js'
export type { Labels, OracleObject, Ref } from './objects.js'
export { readTarget, type RequestTarget } from './request-target.js'
export type { HttpRequest } from './route-match.js'
