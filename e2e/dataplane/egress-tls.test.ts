import { describeEgressTls } from './support/egress-tls.js'

describeEgressTls('envoy', (uuid) => [`proxy?uuid=${uuid}&cfg`, 'xds'])
