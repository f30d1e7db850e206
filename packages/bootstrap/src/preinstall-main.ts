import { nodeHost, runProgram } from '@osm-ts/program'

import { preinstallProgram } from './preinstall/preinstall-program.js'

await runProgram(preinstallProgram, nodeHost(process))
