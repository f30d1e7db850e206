export { AttemptLimiter } from './attempt-limiter.js'
export { buildVersion } from './build-version.js'
export { connectProgram } from './connect-program.js'
export { programErrorCodes, type ProgramErrorCode } from './error-codes.js'
export { type FatalReason, fatalReasonOf } from './fatal-reason.js'
export type { FlagDefinition, FlagDefinitions, FlagValues } from './flag-definitions.js'
export { type HealthSources, healthServer, type VersionInfo } from './health-server.js'
export { boundHeapGrowth, type HeapFlags } from './heap-growth.js'
export { requireOwnHost } from './own-host.js'
export { isLoopback } from './is-loopback.js'
export { listen, type ListenAddress, type ListenOptions } from './listen.js'
export { nodeHost, type NodeProcess } from './node-host.js'
export { pageServer, refuseElsewhere, securePageServer, type SecurePages } from './page-server.js'
export type { FastifyInstance as Pages, FastifyReply as PageReply, FastifyRequest as PageRequest } from 'fastify'
export { parseFlags } from './parse-flags.js'
export { driverFlags, parseProgramFlags, processFlags, type ProgramFlags, programFlags } from './program-flags.js'
export type { ProgramHost } from './program-host.js'
export { type Program, type ProgramContext, runProgram } from './run-program.js'
export {
  dashboardLimits,
  debugLimits,
  pagesLimits,
  healthLimits,
  machineLimits,
  replicaLimits,
  requestTimeouts,
  webhookLimits,
} from './server-limits.js'
export { TokenReviews } from './token-reviews.js'
export * from './admission/index.js'
