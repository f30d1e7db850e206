import { nodeHost, runProgram } from '@osm-ts/core'

import { bootstrapProgram } from './bootstrap-program.js'

await runProgram(bootstrapProgram, nodeHost(process))
