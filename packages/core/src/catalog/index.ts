export * from './catalog-types.js'
export { isHostOf, type BoundaryDecision, type BoundaryRule } from './decision/boundary.js'
export type { IngressQuestion } from './decision/boundary-decisions.js'
export type { EgressQuestion } from './decision/decide-egress.js'
export type { OutsideCaller } from './decision/decide-ingress.js'
export type {
  AccessDecision,
  AccessQuestion,
  AccountDecision,
  CallerAnswer,
  DecidingRule,
} from './decision/access-decision.js'
export { allowsPrincipal } from './decision/evaluate-policy.js'
export { catalogErrorCodes, type CatalogErrorCode } from './error-codes.js'
export type { QueryCount } from './incremental/index.js'
export { MeshCatalog } from './mesh-catalog.js'
export {
  PolicyComputation,
  type CatalogUpdate,
  type ComputationOptions,
  type PolicyChange,
} from './policy-computation.js'
export { compareRoutes } from './policy/gateway/route-order.js'
export { isHttp } from './policy/upstreams/protocol.js'
export type { Origins, PolicyPart, SourceRef } from './policy/parts/policy-part.js'
export {
  GRPC_HEALTH_PATH,
  isSidecarPort,
  LOCAL_NAMESERVER,
  probePath,
  probePorts,
  sidecarPorts,
  transparentListenAddresses,
  type IpFamilies,
} from './policy/proxies/sidecar-addresses.js'
export { mergeParticipation } from './views/participation.js'
export { DEBOUNCE_CEILING_MS, DEBOUNCE_MS, Recompute, type RecomputeClock } from './recompute.js'
export { PolicyPartStore } from './store/policy-part-store.js'
export { PolicyDiffs, type PolicyDiff } from './store/policy-diff.js'
export type { PolicyProblem } from './policy/problems/problems.js'
