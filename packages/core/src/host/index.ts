export { DriverHost, type DriverHostOptions, type DriverStart } from './driver-host.js'
export type { InstanceProvider, PolicyProvider, ProxyInstance } from './policy-provider.js'
export { PROXY_SERVER_NAME } from './server-credentials.js'
export type { ProxyStatus, RefusedPeerStatus, RejectedPart, StatusCondition } from './status.js'
