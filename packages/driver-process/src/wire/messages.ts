import { messageType } from './message.js'

// The messages of proto/osm/driver/v1/driver.proto; a test compares them.

export const empty = messageType('Empty', {})
export const document = messageType('Document', { json: [1, 'string'] })
export const describeRequest = messageType('DescribeRequest', {
  contractMin: [1, 'uint32'],
  contractMax: [2, 'uint32'],
})
export const declaration = messageType('Declaration', {
  name: [1, 'string'],
  contractMin: [2, 'uint32'],
  contractMax: [7, 'uint32'],
  capabilities: [3, 'string'],
  configSchema: [4, 'string'],
  version: [5, 'string'],
  oldestProxyVersion: [6, 'string'],
})
export const startRequest = messageType('StartRequest', { context: [1, 'string'], hostSocket: [2, 'string'] })
export const startEvent = messageType('StartEvent', { probes: [1, 'string'], cancelled: [2, 'string'] })
export const authenticateRequest = messageType('AuthenticateRequest', { certificate: [1, 'bytes'] })
export const sessionRequest = messageType('SessionRequest', { session: [1, 'string'] })
export const partRequest = messageType('PartRequest', { hash: [1, 'string'] })
export const pageRequest = messageType('PageRequest', { path: [1, 'string'] })
export const watchRequest = messageType('WatchRequest', {
  session: [1, 'string'],
  credential: [2, 'string'],
  topic: [3, 'string'],
})
export const failure = messageType('Failure', { code: [1, 'string'], message: [2, 'string'], details: [3, 'string'] })
