export { injectorErrorCodes, type InjectorErrorCode } from './error-codes.js'
export {
  injectPod,
  type InjectedPod,
  type Injection,
  type InjectionPorts,
  type InjectionRequest,
} from './inject/inject-pod.js'
export type { InjectionSettings, NamespaceFacts } from './inject/settings.js'
export { jsonPatch, type PatchOperation } from './json/json-patch.js'
export { isObject, type JsonObject } from './json/json.js'
export type { SkipReason } from './decision/decide.js'
export { InitScripts } from './sidecar/init-containers.js'
