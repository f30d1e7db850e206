import { nodeHost, runProgram } from '@osm-ts/program'

import { cleanupProgram } from './cleanup/cleanup-program.js'

await runProgram(cleanupProgram, nodeHost(process))
