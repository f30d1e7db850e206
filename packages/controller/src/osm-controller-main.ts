#!/usr/bin/env node
import v8 from 'node:v8'

import { boundHeapGrowth, nodeHost, runProgram } from '@osm-ts/program'

import { controllerProgram } from './controller-program.js'

boundHeapGrowth(v8, 50)
await runProgram(controllerProgram, nodeHost(process))
