import { nodeHost, runProgram } from '@osm-ts/program'

import { bootstrapProgram } from './bootstrap-program.js'

await runProgram(bootstrapProgram, nodeHost(process))
