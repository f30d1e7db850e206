export { AttemptLimiter } from './attempt-limiter.js'
export { buildVersion } from './build-version.js'
export {
  programErrorCodes,
  type ProgramErrorCode,
  admissionErrorCodes,
  type AdmissionErrorCode,
} from './error-codes.js'
export { type FatalReason, fatalReasonOf } from './fatal-reason.js'
export type { FlagDefinition, FlagDefinitions, FlagValues } from './flag-definitions.js'
export { type HealthSources, healthServer, type VersionInfo } from './health-server.js'
export { isLoopback, requireOwnHost } from './own-host.js'
export { listen, type ListenAddress, type ListenOptions } from './listen.js'
export { boundHeapGrowth, type HeapFlags, nodeHost, type NodeProcess } from './node-host.js'
export { pageServer, refuseElsewhere, securePageServer, type SecurePages } from './page-server.js'
export type { FastifyInstance as Pages, FastifyReply as PageReply, FastifyRequest as PageRequest } from 'fastify'
export { parseFlags } from './parse-flags.js'
export { driverFlags, parseProgramFlags, processFlags, type ProgramFlags, programFlags } from './program-flags.js'
export { connectProgram, type Program, type ProgramContext, type ProgramHost, runProgram } from './run-program.js'
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
export {
  type AdmissionAnswer,
  type AdmissionObject,
  type AdmissionRequest,
  isAdmissionObject,
  readAdmissionReview,
  writeAdmissionReview,
} from './admission/admission-review.js'
export { readClientCa } from './admission/client-ca.js'
export { type ServingCertificate, servingCertificate, type ServingKey } from './admission/serving-certificate.js'
export {
  type WebhookServer,
  webhookServer,
  type WebhookServerOptions,
  type ReviewWork,
} from './admission/webhook-server.js'
