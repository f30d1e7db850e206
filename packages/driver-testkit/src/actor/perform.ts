import { perform as performRequest } from './calls.js'
import type { Connections } from './connections.js'
import type { Call, CallAnswer } from './protocol.js'

/** Does what is asked for, by the connections of one actor. Never rejects. */
export function perform(call: Call, connections: Connections): Promise<CallAnswer> {
  return call.kind === 'http' || call.kind === 'grpc' ? performRequest(call) : connections.perform(call)
}
