#!/usr/bin/env node
import { nodeHost, runProgram } from '@osm-ts/core'

import { controllerProgram } from './controller-program.js'

await runProgram(controllerProgram, nodeHost(process))
