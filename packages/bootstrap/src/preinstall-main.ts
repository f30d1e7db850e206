import { nodeHost, runProgram } from '@osm-ts/core'

import { preinstallProgram } from './preinstall/preinstall-program.js'

await runProgram(preinstallProgram, nodeHost(process))
