import { describeEgressTls } from '../dataplane/support/egress-tls.js'

describeEgressTls('pipy', (uuid) => ['pipy', `pipy?uuid=${uuid}&cfg`])
