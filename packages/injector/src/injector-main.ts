#!/usr/bin/env node
import v8 from 'node:v8'

import { boundHeapGrowth, nodeHost, runProgram } from '@osm-ts/program'

import { injectorProgram } from './injector-program.js'

// Little of what it reads outlives a request, so that collections are cheap.
boundHeapGrowth(v8, 25)
await runProgram(injectorProgram, nodeHost(process))
