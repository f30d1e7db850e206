import { describeMachineOfClass } from '../dataplane/support/describe-machine-of-class.js'
import { MachineNetwork } from '../dataplane/support/machine-network.js'

describeMachineOfClass(new MachineNetwork('pipy', 10), async () => ({
  name: 'pipy',
  args: ['--pipy', process.env['PIPY_BIN'] ?? ''],
}))
