export type { ClusterChange, ClusterView } from './cluster-view.js'
export type { SliceEndpoint, SliceItem, SlicePort } from './endpoint-slice.js'
export { enrolmentSelector, ignoreLabel, isEnrolled, monitoredByLabel, type EnrolmentRule } from './enrolment.js'
export { sourceErrorCodes, type SourceErrorCode } from './error-codes.js'
export { KubernetesSource, type KubernetesSourceOptions, type ServedObject } from './kubernetes-source.js'
export type { Freshness, NamespaceChange, NamespaceScope } from './namespace-scope.js'
export { proxyUuidLabel, sidecarClassAnnotation, type PodItem } from './pod.js'
export {
  formatProbeBindings,
  probeBindingsAnnotation,
  ProbeBindingsReader,
  type ProbeBindingsReading,
} from './probe-annotation.js'
export type { ObjectFacts, WrittenObject } from './written-object.js'
