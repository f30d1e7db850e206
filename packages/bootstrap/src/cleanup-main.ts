import { nodeHost, runProgram } from '@osm-ts/core'

import { cleanupProgram } from './cleanup/cleanup-program.js'

await runProgram(cleanupProgram, nodeHost(process))
