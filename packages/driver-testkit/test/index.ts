/** What tests of whole programs use of this package beside its index: tests outside of packages may import nothing else of it. */
export { answerCalls } from '../src/actor/answer-calls.js'
export { openSocket } from '../src/actor/calls.js'
export { connectProxy } from '../src/actor/connect-proxy.js'
export { Connections, perform } from '../src/actor/connections.js'
export type { Answered, App, Asked, Call, CallAnswer, Certificate, Target } from '../src/actor/protocol.js'
export { createApp, listen } from '../src/actor/servers.js'
export { socksProxy } from '../src/actor/socks-proxy.js'
