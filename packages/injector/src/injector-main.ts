#!/usr/bin/env node
import { nodeHost, runProgram } from '@osm-ts/core'

import { injectorProgram } from './injector-program.js'

await runProgram(injectorProgram, nodeHost(process))
