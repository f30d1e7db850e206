export type { Instance, InstancePort, InstanceSidecar, InstanceLocality, InstanceNetwork } from './instance.js'
export type { ProviderAnswer, ServiceInstances, ServiceName } from './answer.js'
export type {
  CustomResource,
  ResourceCondition,
  ResourceKind,
  ResourceRef,
  ResourceStatus,
  Resources,
  JsonObject,
  JsonValue,
} from './resource.js'
export {
  ENDPOINTS_CONTRACT_VERSION,
  type CallOutcome,
  type EndpointsPlugin,
  type ProviderContext,
  type ProviderLog,
  type RunningProvider,
} from './plugin.js'
